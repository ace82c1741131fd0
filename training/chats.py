"""Renders chats with a model's own chat template."""

import pathlib

import jinja2
import jinja2.sandbox

from training.errors import UserError
from training.files import read_json

ROLES = ("user", "assistant")


def template_of(directory):
    """A function from a chat's turns, the user's first, to its text; None if the
    model's directory has no template."""
    directory = pathlib.Path(directory)
    path, config = directory / "tokenizer_config.json", {}
    if path.exists():
        config = read_json(path)
    source = config.get("chat_template")
    own = directory / "chat_template.jinja"
    if own.exists():
        path, source = own, own.read_text(encoding="utf-8")
    if not isinstance(source, str):
        return None

    def refuse(message):
        raise UserError(f"{path}: the template refuses a chat: {message}")

    tokens = {}
    for name in ("bos_token", "eos_token"):
        token = config.get(name)
        tokens[name] = token["content"] if isinstance(token, dict) else token or ""
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = refuse
    try:
        template = environment.from_string(source)
    except jinja2.TemplateError as error:
        raise UserError(f"{path}: chat template: {error}") from error

    def text_of(turns):
        messages = [{"role": ROLES[number % 2], "content": turn}
                    for number, turn in enumerate(turns)]
        try:
            return template.render(messages=messages, add_generation_prompt=False,
                                   **tokens)
        except jinja2.TemplateError as error:
            raise UserError(f"{path}: chat template: {error}") from error

    return text_of
