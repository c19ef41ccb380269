"""Parsing chat templates."""

import pytest

from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.records.roles import ROLES
from halo_weave.text.chat_template import TurnMarks, chatml, from_jinja

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
HEADERS = (
    "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' "
    "+ message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
NO_SYSTEM_ROLE = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system role') }}{% endif %}"
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate') }}{% endif %}"
    "{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}"
    "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
THINKING = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
    "{% endif %}"
)
SYSTEM_INSIDE_THE_USERS_TURN = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
    "{% set rest = messages[1:] %}{% else %}{% set system = '' %}{% set rest = messages %}{% endif %}"
    "{% for message in rest %}{% if message.role == 'user' %}{{ '[INST] ' }}"
    "{% if loop.first and system %}{{ system + '\n\n' }}{% endif %}{{ message.content + ' [/INST]' }}"
    "{% else %}{{ ' ' + message.content + eos_token }}{% endif %}{% endfor %}"
)


def test_chatml_is_taken_apart() -> None:
    template = from_jinja(CHATML)
    assert (template.source, template.start, template.writes_tool_calls) == ("model", "", False)
    for role in ROLES:
        assert template.marks(role) == TurnMarks(f"<|im_start|>{role}\n", "<|im_end|>\n")


def test_a_template_that_knows_calls_of_tools_says_so() -> None:
    assert from_jinja(CHATML + "{# <tool_call> #}").writes_tool_calls


def test_a_bos_sign_stands_once_before_everything() -> None:
    template = from_jinja(HEADERS, bos="<|begin|>", adds_bos=True)
    assert template.source == "model"
    assert template.start == "<|begin|>"
    assert template.system == TurnMarks("<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>")
    assert template.assistant == TurnMarks("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>")


def test_a_model_without_a_system_role_hears_it_as_the_users_words() -> None:
    template = from_jinja(NO_SYSTEM_ROLE, bos="<bos>", adds_bos=True)
    assert template.source == "model"
    assert template.start == "<bos>"
    assert template.system == template.user == TurnMarks("<start_of_turn>user\n", "<end_of_turn>\n")
    assert template.assistant.opening == "<start_of_turn>model\n"


def test_a_template_that_thinks_is_asked_not_to() -> None:
    assert from_jinja(THINKING).assistant.opening == "<|im_start|>assistant\n<think>\n\n</think>\n\n"


@pytest.mark.parametrize(
    "template", [None, "", "{% for broken", "{{ messages[0].nothing.at.all }}", "no messages at all", "{{ 1 / 0 }}"]
)
def test_a_missing_or_useless_template_gives_chatml(template: str | None) -> None:
    assert from_jinja(template) == chatml()
    assert from_jinja(template, bos="<s>", adds_bos=True) == chatml("<s>")


def test_a_template_cannot_reach_the_interpreter() -> None:
    reaching = "{{ ''.__class__.__mro__[1].__subclasses__() }}" + CHATML
    assert from_jinja(reaching) == chatml()


def test_a_system_text_inside_the_users_turn_still_gives_usable_marks() -> None:
    template = from_jinja(SYSTEM_INSIDE_THE_USERS_TURN, bos="<s>", eos="</s>", adds_bos=True)
    assert template.start == "<s>"
    assert template.user.opening


def test_the_bundled_models_marks_are_its_own(llama_engine: LlamaEngine) -> None:
    template = llama_engine.facts.chat_template
    assert template.source == "model"
    assert template.start == ""
    for role in ROLES:
        assert template.marks(role) == TurnMarks(f"<|im_start|>{role}\n", "<|im_end|>\n")
    assert len(llama_engine.tokenize(template.user.closing, special=True)) == 2
