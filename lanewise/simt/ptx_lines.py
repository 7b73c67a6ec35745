"""`.loc` directives: which of the learner's lines an instruction belongs to, and through which inlined calls it got there."""

from __future__ import annotations

import re

from .ptx import Module

_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:\s*,\s*function_name\s+([\w$.]+)(?:\s*\+\s*\d+)?\s*,\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_CLANG_CHAIN = re.compile(r"@\[ \S*?([^/\s:]+):(\d+):\d+")

_Frame = tuple[int, int, str]  # file, line, the function that holds the line ("" : the one being read)


class Lines:
    """Follows `.loc`: which of the learner's lines the next instruction belongs to, and through which calls it got there."""

    def __init__(self, module: Module):
        self.module = module
        self.line, self.file = 0, module.learner_file
        self.inlined: tuple[tuple[str, int], ...] = ()
        self.seen: dict[tuple[int, int, int], tuple[_Frame, ...]] = {}
        self.resolved: dict[str, tuple[_Frame, ...]] = {}

    def read(self, text: str) -> None:
        found = _LOC.match(text)
        if found is None or found[2] == "0":  # line 0: code of no line; it keeps the line before
            return
        file, line, column = int(found[1]), int(found[2]), int(found[3])
        if found[4]:
            key = found[0]
            call = (int(found[5]), int(found[6]), int(found[7]))
            frames = self.resolved.get(key)
            # a template that calls itself names its own position as the call; resolving it anew would lengthen the chain each time
            if frames is None or call != (file, line, column):
                name = self.module.strings.get(found[4], found[4])
                frames = ((file, line, name), *self.seen.get(call, ((call[0], call[1], ""),)))
                self.resolved[key] = frames
        else:
            frames = ((file, line, ""), *self.clang_chain(text))
        self.seen[file, line, column] = frames
        self.file = file
        own = [frame for frame in frames if frame[0] == self.module.learner_file]
        if own:
            self.line = own[0][1]
            self.inlined = tuple((own[i][2], own[i + 1][1]) for i in range(len(own) - 1))
        else:
            self.inlined = ()

    def clang_chain(self, text: str) -> list[_Frame]:
        """clang writes the chain into the comment only: `// a.cu:6:35 @[ a.cu:17:16 ]`, without the functions' names."""
        if "@[" not in text:
            return []
        numbers = {name.rsplit("/", 1)[-1]: number for number, name in self.module.files.items()}
        return [(numbers.get(name, 0), int(line), "") for name, line in _CLANG_CHAIN.findall(text)]
