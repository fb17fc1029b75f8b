{{/* A value as a flag takes it: numbers of the values are floating-point, and would be written as 1e+06. */}}
{{- define "agent-sandbox.text" -}}
{{- if kindIs "slice" . }}{{ join "," . }}
{{- else if not (kindIs "float64" .) }}{{ . }}
{{- else if eq . (floor .) }}{{ int64 . }}
{{- else }}{{ . }}
{{- end }}
{{- end }}

{{/* What a controller has as a flag by default. Takes root, key and flag. */}}
{{- define "agent-sandbox.defaultFlag" -}}
{{- if eq .flag "router-namespace" }}agent-sandbox-system
{{- else }}{{ include "agent-sandbox.text" (index (.root.Files.Get "files/flags.yaml" | fromYaml) .key .flag) }}
{{- end }}
{{- end }}

{{/* What a controller gets as a flag. Takes root, key and flag. */}}
{{- define "agent-sandbox.flag" -}}
{{- $values := (index .root.Values .key).flags }}
{{- if not (hasKey $values .flag) }}{{ include "agent-sandbox.defaultFlag" . }}
{{- else if and (eq .flag "router-namespace") (eq (index $values .flag) "") }}{{ .root.Release.Namespace }}
{{- else }}{{ include "agent-sandbox.text" (index $values .flag) }}
{{- end }}
{{- end }}

{{/* The arguments of a controller. Takes root and key. What is at its default is left to the ConfigMap agent-sandbox-config. */}}
{{- define "agent-sandbox.args" -}}
{{- $values := index .root.Values .key }}
{{- range $flag, $_ := $values.flags }}
{{- $of := dict "root" $.root "key" $.key "flag" $flag }}
{{- $text := include "agent-sandbox.flag" $of }}
{{- if or (eq $flag "leader-elect") (ne $text (include "agent-sandbox.defaultFlag" $of)) }}
- {{ printf "--%s=%s" $flag $text | quote }}
{{- end }}
{{- end }}
{{- range $values.extraArgs }}
- {{ quote . }}
{{- end }}
{{- end }}

{{/* The port of an address that a flag names; empty where nothing is served. Takes root, key and flag. */}}
{{- define "agent-sandbox.port" -}}
{{- $address := include "agent-sandbox.flag" . }}
{{- if ne $address "0" }}{{ splitList ":" $address | last }}{{ end }}
{{- end }}

{{- define "agent-sandbox.metricsPort" -}}
{{- include "agent-sandbox.port" (dict "root" .root "key" .key "flag" "metrics-bind-address") }}
{{- end }}

{{- define "agent-sandbox.healthPort" -}}
{{- include "agent-sandbox.port" (dict "root" .root "key" .key "flag" "health-probe-bind-address") }}
{{- end }}
