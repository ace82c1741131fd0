"""Chats in a corpus, as a model's template writes them."""

import json

from tests.training import support
from training.chats import template_of
from training.corpus import read_split
from training.errors import UserError

TEMPLATE = ("{{ bos_token }}{% for message in messages %}[{{ message['role'] }}] "
            "{{ message['content'] }}{{ eos_token }}{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}")
SETTINGS = {"chat_template": TEMPLATE, "bos_token": {"content": "<s>"},
            "eos_token": "</s>"}


class Chats(support.FolderTest):

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def settings(self, **more):
        self.write("tokenizer_config.json", json.dumps({**SETTINGS, **more}))

    def split(self, *rows):
        self.write("train.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def test_turns_are_written_by_the_template(self):
        self.settings()
        self.split({"path": "a", "turns": ["Why?", "So.", "Oh."]},
                   {"path": "b", "text": "plain"})
        found = read_split(self.folder, "train", template_of(self.folder))
        self.assertEqual([document.text for document in found],
                         ["<s>[user] Why?</s>[assistant] So.</s>[user] Oh.</s>",
                          "plain"])

    def test_a_template_of_its_own_file_comes_first(self):
        self.settings()
        self.write("chat_template.jinja", "{{ messages[0]['content'] }}!")
        self.assertEqual(template_of(self.folder)(["Ha"]), "Ha!")

    def test_without_a_template_chats_are_refused(self):
        self.assertIsNone(template_of(self.folder))
        self.split({"path": "a", "turns": ["Why?"]})
        with self.assertRaisesRegex(UserError, r"train.jsonl:1: a chat, and"):
            read_split(self.folder, "train")

    def test_what_is_no_chat_is_refused_by_its_line(self):
        self.settings()
        for turns in ([], [3], "Why?", None):
            self.split({"path": "a", "turns": ["Why?"]},
                       {"path": "b", "turns": turns})
            with self.assertRaisesRegex(UserError, "train.jsonl:2"):
                read_split(self.folder, "train", template_of(self.folder))

    def test_a_broken_template_is_named(self):
        self.settings(chat_template="{% for %}")
        with self.assertRaisesRegex(UserError, "tokenizer_config.json: chat"):
            template_of(self.folder)
        self.settings(chat_template="{{ raise_exception('no') }}")
        with self.assertRaisesRegex(UserError, "refuses a chat: no"):
            template_of(self.folder)(["Why?"])
