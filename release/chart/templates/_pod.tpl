{{/* The image of a controller: by a digest, the tag informs readers. Takes root and key. */}}
{{- define "agent-sandbox.image" -}}
{{- $image := (index .root.Values .key).image }}
{{- $registry := $image.registry | default .root.Values.image.registry }}
{{- $tag := $image.tag | default .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- with $registry }}{{ . }}/{{ end }}{{ $image.repository }}:{{ $tag }}{{ with $image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/* Annotations of a Pod. What controllers read at their start rolls them when it changes. */}}
{{- define "agent-sandbox.podAnnotations" -}}
{{- $own := dict "kubectl.kubernetes.io/default-container" (include "agent-sandbox.name" .key) }}
{{- with .root.Values.config }}{{ $own = set $own "checksum/config" (toJson . | sha256sum) }}{{ end }}
{{- merge $own (index .root.Values .key).podAnnotations | toYaml }}
{{- end }}

{{/* The only container of a controller's Pod. Takes root and key. */}}
{{- define "agent-sandbox.container" -}}
{{- $values := index .root.Values .key }}
{{- $metrics := include "agent-sandbox.metricsPort" . }}
{{- $health := include "agent-sandbox.healthPort" . -}}
name: {{ include "agent-sandbox.name" .key }}
image: {{ include "agent-sandbox.image" . | quote }}
imagePullPolicy: {{ $values.image.pullPolicy | default .root.Values.image.pullPolicy }}
args:
{{- include "agent-sandbox.args" . }}
{{- if or $values.env $values.extraEnv }}
env:
{{- range $name, $value := $values.env }}
- name: {{ $name }}
  value: {{ quote $value }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- if or $metrics $health }}
ports:
{{- with $metrics }}
- name: metrics
  containerPort: {{ . }}
  protocol: TCP
{{- end }}
{{- with $health }}
- name: healthz
  containerPort: {{ . }}
  protocol: TCP
{{- end }}
{{- end }}
{{- if $health }}
livenessProbe:
  httpGet:
    path: /healthz
    port: healthz
  {{- with $values.livenessProbe }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
readinessProbe:
  httpGet:
    path: /readyz
    port: healthz
  {{- with $values.readinessProbe }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- with $values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
- name: config
  mountPath: /etc/sandbox-config
  readOnly: true
{{- with $values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- with $values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The rest of a controller's Pod. Takes root and key. */}}
{{- define "agent-sandbox.podSpec" -}}
{{- $values := index .root.Values .key -}}
serviceAccountName: {{ include "agent-sandbox.account" . }}
automountServiceAccountToken: true
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
{{ toYaml . }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ int64 $values.terminationGracePeriodSeconds }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- with index $values $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with $values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
- {{- include "agent-sandbox.container" . | nindent 2 }}
volumes:
- name: config
  configMap:
    name: agent-sandbox-config
    optional: true
{{- with $values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels of a Pod. Without the chart's version, whose change alone is no reason to roll. */}}
{{- define "agent-sandbox.podLabels" -}}
{{- merge (omit (include "agent-sandbox.labels" . | fromYaml) "helm.sh/chart") (dict "app" .name) (index .root.Values .key).podLabels | toYaml }}
{{- end }}
