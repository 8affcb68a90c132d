{{- /* One entry for each page and each of its sections. */ -}}
{{- $groups := dict -}}
{{- range site.Params.groups }}{{ $groups = merge $groups (dict .directory .name) }}{{ end -}}
{{- $entries := slice -}}
{{- range slice site.Home | append site.RegularPages -}}
  {{- $title := partialCached "title.html" . . -}}
  {{- $group := "" -}}
  {{- with .Section }}{{ $group = index $groups . }}{{ end -}}
  {{- $page := cond .IsHome "index.html" (strings.TrimPrefix "/" .RelPermalink) -}}
  {{- $html := replaceRE `<a class="anchor".*?</a>` "" .Content -}}
  {{- $html = replaceRE `(?s)<h1.*?</h1>` "" $html -}}
  {{- $html = replaceRE `<h[2-6] id="([^"]*)">(.*?)</h[2-6]>` "\u0001$1\u0002$2\u0002" $html -}}
  {{- $html = replaceRE `</(?:td|th|li|p|pre)>` " " $html -}}
  {{- range $i, $section := split $html "\u0001" -}}
    {{- $address := $page -}}
    {{- $heading := "" -}}
    {{- $text := $section -}}
    {{- if $i -}}
      {{- $parts := split $section "\u0002" -}}
      {{- $address = printf "%s#%s" $page (index $parts 0) -}}
      {{- $heading = index $parts 1 | plainify | htmlUnescape | strings.TrimSpace -}}
      {{- $text = index $parts 2 -}}
    {{- end -}}
    {{- $text = $text | plainify | htmlUnescape -}}
    {{- $text = replaceRE `\s+` " " $text | strings.TrimSpace -}}
    {{- $entries = $entries | append (dict "title" $title "group" $group "address" $address "heading" $heading "text" $text) -}}
  {{- end -}}
{{- end -}}
searchIndex({{ $entries | jsonify (dict "noHTMLEscape" true) }});
