{{/* Alerts on the controllers' own metrics. A Sandbox that does not become Ready is its user's business and alerts nobody here; a
controller that is gone, fails or is slow is. Each controller has its own, since either may be installed alone. */}}

{{- define "agent-sandbox.alerts.core" -}}
- alert: AgentSandboxControllerGone
  expr: absent(agent_sandbox_build_info{job="agent-sandbox-controller",namespace="{{ .Release.Namespace }}"})
  for: 5m
  labels:
    severity: critical
  annotations:
    summary: No replica of agent-sandbox-controller is scraped.
    description: Sandboxes that run go on, but none starts, resumes or expires.
{{- range $operation := list "suspend" "resume" }}
- alert: AgentSandbox{{ title $operation }}Fails
  expr: sum by (namespace, sandbox_template) (increase(agent_sandbox_{{ $operation }}_total{result="error"}[15m])) > 0
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: {{ printf "The controller fails to %s Sandboxes of namespace {{ $labels.namespace }}." $operation | quote }}
    description: The conditions of these Sandboxes, and the log of the controller, tell the error.
{{- end }}
{{- end }}

{{- define "agent-sandbox.alerts.extensions" -}}
- alert: AgentSandboxExtensionsControllerGone
  expr: absent(agent_sandbox_build_info{job="agent-sandbox-extensions-controller",namespace="{{ .Release.Namespace }}"})
  for: 5m
  labels:
    severity: critical
  annotations:
    summary: No replica of agent-sandbox-extensions-controller is scraped.
    description: Sandboxes that run go on, but no claim gets one, and no warm pool is refilled.
- alert: AgentSandboxWarmPoolWithoutReadySandbox
  expr: |-
    sum by (namespace, warmpool_name) (agent_sandbox_warmpool_size{sandbox_status="ready"}) == 0
    and sum by (namespace, warmpool_name) (agent_sandbox_warmpool_size{sandbox_status="pending"}) > 0
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ quote "Warm pool {{ $labels.namespace }}/{{ $labels.warmpool_name }} has had no Sandbox ready for 15 minutes." }}
    description: Its claims start cold. The condition Progressing of the pool names the cause.
- alert: AgentSandboxClaimsStartCold
  expr: |-
    sum by (namespace, warmpool_name) (increase(agent_sandbox_claim_creation_total{launch_type="cold"}[30m]))
    / sum by (namespace, warmpool_name) (increase(agent_sandbox_claim_creation_total[30m]))
    > {{ include "agent-sandbox.text" .Values.prometheusRule.coldClaimShare }}
  for: 30m
  labels:
    severity: warning
  annotations:
    summary: {{ quote "{{ $value | humanizePercentage }} of the claims on warm pool {{ $labels.namespace }}/{{ $labels.warmpool_name }} start cold." }}
    description: The condition ColdStart of the claims says why. A pool that is empty when claims come needs more replicas.
- alert: AgentSandboxWarmClaimsSlow
  expr: |-
    histogram_quantile(0.99, sum by (le) (rate(agent_sandbox_claim_controller_startup_latency_ms_bucket{launch_type="warm"}[10m])))
    > {{ include "agent-sandbox.text" .Values.prometheusRule.slowClaimMilliseconds }}
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ quote "One warm claim in 100 takes longer than {{ $value | humanize }} ms to be Ready." }}
    description: Where the API server is not slow itself, give both controllers separate-watch-connection and more api-connections.
{{- end }}
