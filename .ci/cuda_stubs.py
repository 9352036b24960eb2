"""Empty stand-ins for the CUDA libraries that the public torch wheel links to, so that it loads on a machine without.

    python cuda_stubs.py TORCH_LIB_FOLDER OUTPUT_FOLDER          then LD_LIBRARY_PATH=OUTPUT_FOLDER

Saves 3 GB of downloads where only the CPU is used. Every function answers cudaErrorNoDevice (100), which torch reads as
"no GPU here". Needs gcc and binutils.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

FOREIGN = re.compile(r"lib(cu|nv|nccl)")
CUDA_SYMBOL = re.compile(r"(cu[A-Z_a-z]|nccl|nv[A-Za-z])")
NO_DEVICE = 100


def readelf(flag: str, library: Path) -> list[str]:
    return subprocess.run(
        ["readelf", flag, "-W", library], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def needed(libraries: list[Path]) -> set[str]:
    """Names of CUDA's libraries that are linked to and not in the wheel."""
    own = {library.name for library in libraries}
    found = {
        match[1]
        for library in libraries
        for line in readelf("-d", library)
        if (match := re.search(r"\(NEEDED\).*\[(.+)\]", line))
    }
    return {name for name in found - own if FOREIGN.match(name)}


def versions(libraries: list[Path]) -> dict[str, str]:
    """Which library owns each symbol version, such as libcublas.so.12."""
    owner = {}
    for library in libraries:
        file = ""
        for line in readelf("-V", library):
            if match := re.search(r"File: (\S+)", line):
                file = match[1]
            elif (match := re.search(r"Name: (\S+)\s+Flags", line)) and FOREIGN.match(file):
                owner[match[1]] = file
    return owner


def undefined(libraries: list[Path]) -> set[tuple[str, str]]:
    """Every symbol that is looked for elsewhere, with its version or an empty string."""
    rows = (line.split() for library in libraries for line in readelf("--dyn-syms", library))
    names = (row[7] for row in rows if len(row) > 7 and row[6] == "UND")
    return {(name, version.lstrip("@")) for name, _, version in (name.partition("@") for name in names)}


def build(name: str, symbols: dict[str, set[str]], folder: Path) -> None:
    """One library with these symbols under each version ("" for none)."""
    source, script = folder / f"{name}.c", folder / f"{name}.map"
    everything = sorted(set().union(*symbols.values()))
    source.write_text("\n".join(f"int {symbol}(void) {{ return {NO_DEVICE}; }}" for symbol in everything))
    command = ["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{name}", "-o", folder / name, source]
    named = {version: members for version, members in symbols.items() if version}
    if named:
        loose = symbols.get("", set())  # a script lists all that is to be seen, so these join the first version
        nodes = []
        for version, members in named.items():
            nodes.append(f"{version} {{ global: {' '.join(f'{symbol};' for symbol in sorted(members | loose))} }};")
            loose = set()
        script.write_text("\n".join(nodes))
        command.insert(1, f"-Wl,--version-script={script}")
    subprocess.run(command, check=True)
    source.unlink()
    script.unlink(missing_ok=True)


def main(torch_lib: Path, folder: Path) -> None:
    libraries = sorted(torch_lib.glob("*.so*"))
    wanted = sorted(needed(libraries))
    owner = versions(libraries)
    symbols: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for version, library in owner.items():
        symbols[library][version]  # a version is demanded by name even where no symbol of it is
    for symbol, version in undefined(libraries):
        if version in owner:
            symbols[owner[version]][version].add(symbol)
        elif not version and CUDA_SYMBOL.match(symbol):
            symbols[wanted[0]][""].add(symbol)  # found wherever it is, as long as it is loaded
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        build(name, symbols[name] or {"": set()}, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
