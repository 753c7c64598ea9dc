#pragma once
// Templates of the tests' own, with what those of well-known models are made of.

namespace styles {

inline constexpr const char* chatml = R"jinja({%- for message in messages -%}
    {{- '<|im_start|>' + message['role'] + '\n' + message['content'] | trim + '<|im_end|>' + '\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\n' -}}
{%- endif -%}
)jinja";

inline constexpr const char* llama2 =
    R"jinja({% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set preface = messages[0]['content'] %}{% else %}{% set rest = messages %}{% set preface = false %}{% endif %}{% for turn in rest %}{% if (turn['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Turns must alternate between user and assistant') }}{% endif %}{% if loop.index0 == 0 and preface != false %}{% set said = '<<SYS>>\n' + preface + '\n<</SYS>>\n\n' + turn['content'] %}{% else %}{% set said = turn['content'] %}{% endif %}{% if turn['role'] == 'user' %}{{ bos_token + '[INST] ' + said.strip() + ' [/INST]' }}{% elif turn['role'] == 'assistant' %}{{ ' ' + said.strip() + ' ' + eos_token }}{% endif %}{% endfor %})jinja";

inline constexpr const char* llama3 = R"jinja({{- bos_token }}
{%- if custom_date is not defined %}
    {%- if strftime_now is defined %}
        {%- set today = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set today = "1 Jan 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- The preface comes first, if there is one. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set preface = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set preface = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{%- if tools is not none %}
    {{- "Tools: " ~ (tools | tojson(indent=4)) }}
{%- endif %}
{{- "Date: " + today + "\n\n" }}
{{- preface }}
{{- "<|eot_id|>" }}
{%- for m in messages %}
    {%- if not (m.role == 'ipython' or 'tool_calls' in m) %}
        {{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' + m['content'] | trim + '<|eot_id|>' }}
    {%- elif m.tool_calls|length != 1 %}
        {{- raise_exception("One call at a time") }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
)jinja";

inline constexpr const char* mistral = R"jinja({%- if messages[0]["role"] == "system" %}
    {%- set preface = messages[0]["content"] %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set turns = messages %}
{%- endif %}
{%- set last_user = turns | selectattr("role", "equalto", "user") | list | last %}
{%- set ns = namespace(count=0) %}
{%- for turn in turns | rejectattr("tool_calls", "defined") %}
    {%- if (turn["role"] == "user") != (ns.count % 2 == 0) %}
        {{- raise_exception("Turns are out of order") }}
    {%- endif %}
    {%- set ns.count = ns.count + 1 %}
{%- endfor %}

{{- bos_token }}
{%- for turn in turns %}
    {%- if turn["role"] == "user" %}
        {%- if loop.first and preface is defined %}
            {{- "[INST] " + preface + "\n\n" + turn["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + turn["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif turn["role"] == "assistant" %}
        {{- " " + turn["content"]|trim + eos_token}}
    {%- else %}
        {{- raise_exception("Unknown role " ~ turn["role"] ~ "!") }}
    {%- endif %}
{%- endfor %}
)jinja";

inline constexpr const char* gemma =
    R"jinja({{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set lead = messages[0]['content'] + '

' %}{% set turns = messages[1:] %}{% else %}{% set lead = '' %}{% set turns = messages %}{% endif %}{% for m in turns %}{% if (m['role'] == 'assistant') %}{% set who = 'model' %}{% else %}{% set who = m['role'] %}{% endif %}{{ '<start_of_turn>' + who + '
' + (lead if loop.first else '') }}{% if m['content'] is string %}{{ m['content'] | trim }}{% elif m['content'] is iterable %}{% for part in m['content'] %}{{ part['text'] }}{% endfor %}{% endif %}{{ '<end_of_turn>
' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model
'}}{% endif %})jinja";

inline constexpr const char* zephyr = R"jinja({% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %})jinja";

/// What ends the conversation stands behind what ends a turn.
inline constexpr const char* phi3 =
    R"jinja({% for message in messages %}{% if message['role'] in ['system', 'user'] %}{{'<|' ~ message.role ~ '|>' ~ '\n' ~ message.content ~ '<|end|>' ~ '\n'}}{% else %}{{'<|assistant|>' ~ '\n' ~ message.content ~ '<|end|>' ~ '\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %})jinja";

/// The same with answers marked, heads and all, but not the conversation's end.
inline constexpr const char* phi3_marked =
    R"jinja({% for message in messages %}{% if message['role'] in ['system', 'user'] %}{{'<|' ~ message.role ~ '|>' ~ '\n' ~ message.content ~ '<|end|>' ~ '\n'}}{% else %}{% generation %}{{'<|assistant|>' ~ '\n' ~ message.content ~ '<|end|>' ~ '\n'}}{% endgeneration %}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %})jinja";

/// Answers are marked in a macro, without their heads.
inline constexpr const char* chatml_marked = R"jinja({%- macro answer(content) -%}
    {%- generation -%}
        {{- content | trim + '<|im_end|>\n' -}}
    {%- endgeneration -%}
{%- endmacro -%}
{%- for message in messages -%}
    {{- '<|im_start|>' + message['role'] + '\n' -}}
    {%- if message['role'] == 'assistant' -%}
        {{- answer(message['content']) -}}
    {%- else -%}
        {{- message['content'] | trim + '<|im_end|>\n' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\n' -}}
{%- endif -%}
)jinja";

inline constexpr const char* qwen3 = R"jinja({%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- set ns = namespace(searching=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == "user" and message.content is string and not(message.content.startswith('<tool>') and message.content.endswith('</tool>')) %}
        {%- set ns.searching = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thoughts = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thoughts = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thoughts = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and (loop.last or thoughts) %}
            {{- '<|im_start|>' + message.role + '\n<think>\n' + thoughts.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}
)jinja";

inline constexpr const char* deepseek =
    R"jinja({% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(first=true, preface='') %}{%- for message in messages %}{%- if message['role'] == 'system' %}{%- if ns.first %}{% set ns.preface = ns.preface + message['content'] %}{% set ns.first = false %}{%- else %}{% set ns.preface = ns.preface + '\n\n' + message['content'] %}{%- endif %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.preface }}{%- for message in messages %}{%- if message['role'] == 'user' %}{{ '<｜User｜>' + message['content'] }}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is not none %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{ '<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>' }}{%- endif %}{%- endfor %}{% if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %})jinja";

/// Its prompt begins with thoughts that it leaves out of answers.
inline constexpr const char* reasoner =
    R"jinja({{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% endif %}{% endfor %}{% for m in messages %}{% if m.role == 'user' %}{{ '<｜User｜>' + m.content }}{% elif m.role == 'assistant' %}{% set said = m.content %}{% if '</think>' in said %}{% set said = said.split('</think>')[-1] %}{% endif %}{{ '<｜Assistant｜>' + said + '<｜end▁of▁sentence｜>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<｜Assistant｜><think>\n' }}{% endif %})jinja";

/// The last turn ends otherwise than those before it, and all heads begin alike.
inline constexpr const char* harmony = R"jinja({%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '<|start|>assistant<|channel|>final<|message|>' + message.content }}
        {{- '<|return|>' if loop.last and not add_generation_prompt else '<|end|>' }}
    {%- else %}
        {{- '<|start|>' + message.role + '<|message|>' + message.content + '<|end|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start|>assistant' }}
{%- endif %}
)jinja";

}  // namespace styles
