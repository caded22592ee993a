"""The text of SQL for Postgres: what in it is a word, a parameter or an end, and what only looks like one."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

# A string or a comment that does not end goes on to the end of the text, as it does for Postgres. A colon right behind
# a word, a number or a bracket divides a slice of an array.
_TOKEN = re.compile(
    r"""
      [eE]'(?:[^'\\] | \\. | '' | '\s*\n\s*')*(?:'|\Z)
    | '(?:[^']|'')*(?:'|\Z)
    | (?P<name> "(?:[^"]|"")*(?:"|\Z) )
    | \$(?P<tag> (?:[^\W\d]\w*)? )\$ .*? (?:\$(?P=tag)\$|\Z)
    | (?P<line_comment> --[^\n]* )
    | (?P<comment> /\* )
    | (?P<word> [^\W\d][\w$]* )
    | \d[\w.]*
    | ::
    | (?P<operator> \?\? )
    | (?P<question> \? )
    | (?<![\w\])"]) : (?P<parameter> [^\W\d]\w* )
    | (?P<mark> [;()] )
    | \S
    """,
    re.DOTALL | re.VERBOSE,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_BY_HAND = {"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"}
_FOR_THE_SESSION = {"set", "reset", "discard", "listen", "unlisten"}
_FOR_THE_TRANSACTION = {"local", "transaction", "constraints"}


@dataclass
class Numbered:
    """A statement in the words of Postgres.

    Attributes:
        sql: has `$1` where there was `?` or `:name`, and `?` where there was `??`.
        names: of the parameters, in their order.
        questions: how many `?` there are.
        refusal: why an app may not run it; empty when it may.
        is_one: whether there is no other one behind it.
    """

    sql: str = ""
    names: list[str] = field(default_factory=list)
    questions: int = 0
    refusal: str = ""
    is_one: bool = True
    _moved: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])

    def origin(self, index: int) -> int:
        """Where in the text as it was written a place of `sql` is."""
        new, old = self._moved[bisect_right(self._moved, index, key=lambda moved: moved[0]) - 1]
        return old + index - new

    def replace(self, written: str, by: str, begins_at: int, ends_at: int) -> None:
        _new, done = self._moved[-1]
        self.sql += written[done:begins_at]
        self._moved.append((len(self.sql), begins_at))
        self.sql += by
        self._moved.append((len(self.sql), ends_at))

    def end(self, written: str) -> None:
        self.sql += written[self._moved[-1][1] :]


@lru_cache(maxsize=1000)
def numbered(sql: str) -> Numbered:
    """Reads a statement with `?` or `:name` for its parameters and `??` for the operator."""
    result = Numbered()
    words: list[str] = []
    for token in _tokens(sql):
        if token["question"]:
            result.questions += 1
            result.replace(sql, f"${result.questions}", *token.span())
        elif token["operator"]:
            # How JDBC writes it, too.
            result.replace(sql, "?", *token.span())
        elif name := token["parameter"]:
            if name not in result.names:
                result.names.append(name)
            result.replace(sql, f"${result.names.index(name) + 1}", *token.span())
        elif word := token["word"] or token["name"]:
            words.append(word.lower())
    result.end(sql)
    result.refusal = _refusal(words)
    result.is_one = len(list(statements(sql))) < 2
    return result


def statements(script: str) -> Iterator[tuple[int, str]]:
    """Each statement of a script with the index in the script at which it begins, without comments before it."""
    begins_at: int | None = None
    words: list[str] = []
    depth = 0
    for token in _tokens(script):
        if token[0] == ";" and depth == 0:
            if begins_at is not None:
                yield begins_at, script[begins_at : token.end()]
            begins_at, words = None, []
            continue
        begins_at = token.start() if begins_at is None else begins_at
        word = (token["word"] or "").lower()
        words += [word] if word and len(words) < 4 else []
        depth += _deeper(token["mark"] or word, {"function", "procedure"} & set(words) and words[0] == "create", depth)
    if begins_at is not None:
        yield begins_at, script[begins_at:].rstrip()


def _deeper(word: str, is_routine: object, depth: int) -> int:
    """What a bracket, or a word in the body of a routine that is written without quotes, does to the depth."""
    if word == "(" or (is_routine and (word == "begin" or (word == "case" and depth))):
        return 1
    return -1 if depth and (word == ")" or (is_routine and word == "end")) else 0


def _tokens(sql: str) -> Iterator[re.Match[str]]:
    """All but space and comments."""
    index = 0
    while found := _TOKEN.search(sql, index):
        index = found.end()
        if found["comment"]:
            index = _behind_comment(sql, index)
        elif not found["line_comment"]:
            yield found


def _behind_comment(sql: str, index: int) -> int:
    """Comments nest."""
    depth = 1
    while depth and (edge := _COMMENT_EDGE.search(sql, index)):
        depth += 1 if edge[0] == "/*" else -1
        index = edge.end()
    return len(sql) if depth else index


def _refusal(words: list[str]) -> str:
    first, second = [*words, "", ""][:2]
    if first in _BY_HAND or (first, second) == ("prepare", "transaction"):
        return f"{first.upper()} by hand is refused; use `with db.transaction():`"
    if first in _FOR_THE_SESSION and second not in _FOR_THE_TRANSACTION:
        problem = "would hold for whoever has the connection next"
        return f"{first.upper()} {problem}; use SET LOCAL in a transaction, or ALTER DATABASE … SET"
    if first == "copy" and {"stdin", "stdout"} & set(words):
        return "COPY to and from the client is refused; use query, or many inserts in one transaction"
    if any(word.strip('"').startswith("_melee_") for word in words):
        return "tables that begin with _melee_ are melee's own; choose another name"
    return ""
