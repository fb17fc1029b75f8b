{{/* The names of one installation. None begins with the release's: the CRDs are the cluster's, so two releases would work on the same
Sandboxes, and these names keep the second one from being installed. */}}

{{/* Name of a controller and of everything that is its own. The argument is its key in the values. */}}
{{- define "agent-sandbox.name" -}}
{{- if eq . "core" }}agent-sandbox-controller{{ else }}agent-sandbox-extensions-controller{{ end }}
{{- end }}

{{/* Keys of the controllers that are installed, comma-separated. */}}
{{- define "agent-sandbox.installed" -}}
{{- $keys := list }}
{{- range list "core" "extensions" }}
{{- if (index $.Values .).enabled }}{{ $keys = append $keys . }}{{ end }}
{{- end }}
{{- if not $keys }}{{ fail "core.enabled and extensions.enabled are both false: nothing would be installed" }}{{ end }}
{{- join "," $keys }}
{{- end }}

{{/* Name of the ServiceAccount of a controller. Takes root and key. */}}
{{- define "agent-sandbox.account" -}}
{{- $name := (index .root.Values .key).serviceAccount.name | default (include "agent-sandbox.name" .key) }}
{{- if and .root.Values.admissionPolicies.reservedMetadata.enabled (not (and (hasPrefix "agent-sandbox-" $name) (hasSuffix "-controller" $name))) }}
{{- fail (printf "%s.serviceAccount.name=%s: the policy on reserved metadata trusts agent-sandbox-controller and agent-sandbox-...-controller alone; take such a name, or set admissionPolicies.reservedMetadata.enabled=false" .key $name) }}
{{- end }}
{{- $name }}
{{- end }}

{{/* Labels of an object. Takes root and name; component and more if it has them. */}}
{{- define "agent-sandbox.labels" -}}
{{- $own := dict
  "app.kubernetes.io/name" .name
  "app.kubernetes.io/part-of" "agent-sandbox"
  "app.kubernetes.io/version" (.root.Chart.AppVersion | replace "+" "_")
  "app.kubernetes.io/instance" .root.Release.Name
  "app.kubernetes.io/managed-by" .root.Release.Service
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") }}
{{- with get . "component" }}{{ $own = set $own "app.kubernetes.io/component" . }}{{ end }}
{{- merge $own (get . "more" | default dict) .root.Values.commonLabels | toYaml }}
{{- end }}
