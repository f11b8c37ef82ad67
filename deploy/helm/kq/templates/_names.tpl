{{- define "kq.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "kq.workers.namespace" -}}
{{ .Values.workers.namespace | default .Release.Namespace }}
{{- end }}

{{- define "kq.broker.host" -}}
{{ include "kq.name" . }}-broker.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "kq.broker.own.url" -}}
tcp://{{ include "kq.name" .root }}-broker-own-{{ .letter }}.{{ .root.Release.Namespace }}.svc:5570
{{- end }}

{{- define "kq.broker.url" -}}
{{- if .Values.broker.standby.enabled -}}
{{- $first := include "kq.broker.own.url" (dict "root" . "letter" "a") -}}
{{- $second := include "kq.broker.own.url" (dict "root" . "letter" "b") -}}
{{ $first }},{{ $second }}
{{- else -}}
tcp://{{ include "kq.broker.host" . }}:5570
{{- end }}
{{- end }}

{{- define "kq.labels" -}}
app.kubernetes.io/name: kq
app.kubernetes.io/instance: {{ include "kq.name" . }}
{{- end }}

{{- define "kq.image" -}}
{{ .root.Values.image.prefix }}kq-{{ .program }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- define "kq.pull" -}}
enableServiceLinks: false
automountServiceAccountToken: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "kq.restricted.pod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  # The files of Secrets and the volume belong to this group.
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "kq.restricted.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}
