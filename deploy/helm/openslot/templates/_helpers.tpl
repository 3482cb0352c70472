{{/* The name of the release, with the name of the chart unless it has it already: "openslot", "berlin-openslot". */}}
{{- define "openslot.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of a component. It can't be changed later. */}}
{{- define "openslot.selector" -}}
app.kubernetes.io/name: openslot
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The labels that Helm recommends for every object. */}}
{{- define "openslot.labels" -}}
app.kubernetes.io/name: openslot
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* What the pods of all components have in common. */}}
{{- define "openslot.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
# Nothing that has to stay is kept in a pod.
volumes:
  - name: data
    emptyDir: {}
  - name: tmp
    emptyDir: {}
{{- end -}}

{{/* What the deployments of web and worker have in common besides. */}}
{{- define "openslot.lasting" -}}
# Requests in flight are answered, and what is being sent is finished first, which takes an email 90 seconds at most.
terminationGracePeriodSeconds: {{ eq .component "worker" | ternary 120 60 }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "openslot.selector" . | nindent 8 }}
{{- end -}}

{{/* What the containers of all components have in common. */}}
{{- define "openslot.container" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: data
    mountPath: /data
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{/* Settings that are in other secrets under other names. */}}
{{- define "openslot.fromSecrets" -}}
{{- range $name, $place := .Values.settingsFromSecrets }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $place.secret | quote }}
      key: {{ $place.key | quote }}
{{- end }}
{{- end -}}

{{/* Where web and worker get their settings from. */}}
{{- define "openslot.environment" -}}
envFrom:
  - configMapRef:
      name: {{ include "openslot.fullname" . }}
  - secretRef:
      name: {{ .Values.existingSecret | quote }}
{{- with include "openslot.fromSecrets" . }}
env:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}
