"""What the copy button takes from a block: never a prompt."""

from melee_docs.blocks import Block

# The prompt and the continuation that a transcript shows, by language.
PROMPTS = {"console": ("$ ", "> "), "pycon": (">>> ", "... ")}


def commands(text: str, language: str) -> str:
    """The lines that were typed in a transcript, without prompts and output.

    In `console`, a line goes on only behind a backslash.
    """
    prompt, continuation = (mark.rstrip() for mark in PROMPTS[language])
    typed: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        mark, _, rest = line.partition(" ")
        typing = mark == prompt or (goes_on and mark == continuation)
        if typing:
            typed.append(rest)
        goes_on = typing and (language == "pycon" or line.endswith("\\"))
    return "\n".join(typed)


def problems_of_copying(block: Block) -> list[str]:
    """Why the copy button would copy nothing, or a prompt."""
    if block.language in PROMPTS:
        if commands(block.text, block.language):
            return []
        return [f"no line begins with `{PROMPTS[block.language][0]}`; write what is typed behind prompts"]
    return [
        f"the copy button would copy the prompt `{prompt}`; name the language `{language}`"
        for language, (prompt, _) in PROMPTS.items()
        if block.text.lstrip().startswith(prompt)
    ]
