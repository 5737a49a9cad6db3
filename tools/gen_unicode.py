#!/usr/bin/env python3
"""Writes src/python/unicode_tables.inc from the unicodedata of the Python that runs it.

Run with Python 3.13 (Unicode 15.1), the newest supported one. The older ones are asked what they could print
already; PELLUCID_PYTHONS names the folder that holds <version>/bin/python (default: pyenv's).

    python3.13 tools/gen_unicode.py src/python/unicode_tables.inc
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import unicodedata

ALL_POINTS = range(0x110000)
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
OLDER = range(8, 13)  # minor versions of Python 3
BLOCK = 32  # names between two entries of the index


def ranges(predicate):
    """The points that satisfy predicate, as [first, last] pairs."""
    result = []
    for point in ALL_POINTS:
        if not predicate(chr(point)):
            continue
        if result and result[-1][1] == point - 1:
            result[-1][1] = point
        else:
            result.append([point, point])
    return result


def is_xid_continue(char):
    return ("a" + char).isidentifier()


def put_ranges(out, name, pairs):
    out.append(f"static const pel_range {name}[] = {{")
    row = [f"{{0x{first:X},0x{last:X}}}," for first, last in pairs]
    out.extend("".join(row[i : i + 6]) for i in range(0, len(row), 6))
    out.append("};\n")


def put_numbers(out, type, name, numbers, form="{}"):
    out.append(f"static const {type} {name}[] = {{")
    row = [form.format(number) + "," for number in numbers]
    out.extend("".join(row[i : i + 24]) for i in range(0, len(row), 24))
    out.append("};\n")


def printable_in(minor):
    """The points that Python 3.<minor> prints as they are."""
    folder = pathlib.Path(os.environ.get("PELLUCID_PYTHONS", pathlib.Path.home() / ".pyenv" / "versions"))
    python = next(folder.glob(f"3.{minor}.*/bin/python"))
    script = "import json; print(json.dumps([p for p in range(0x110000) if chr(p).isprintable()]))"
    return set(json.loads(subprocess.run([python, "-c", script], capture_output=True, check=True).stdout))


def put_printable_since(out):
    """What is printable now, but was not in an older Python."""
    older = {minor: printable_in(minor) for minor in OLDER}
    rows = []
    for point in ALL_POINTS:
        if not chr(point).isprintable() or point in older[OLDER[0]]:
            continue
        since = next((minor for minor in OLDER if point in older[minor]), OLDER[-1] + 1)
        if rows and rows[-1][1] == point - 1 and rows[-1][2] == since:
            rows[-1][1] = point
        else:
            rows.append([point, point, since])
    out.append(
        f"/* first, last, the Python 3.x in which they became printable; all others are so since 3.{OLDER[0]} */")
    put_valued_ranges(out, "printable_since", rows)


def put_valued_ranges(out, name, rows):
    out.append(f"static const pel_valued_range {name}[] = {{")
    row = [f"{{0x{first:X},0x{last:X},{value}}}," for first, last, value in rows]
    out.extend("".join(row[i : i + 6]) for i in range(0, len(row), 6))
    out.append("};\n")


def put_normalisation(out):
    """Only for what an identifier may hold: XID_Continue is closed under NFKC."""
    pool, rows = [], []
    for point in ALL_POINTS:
        char = chr(point)
        if point in HANGUL_SYLLABLES or not is_xid_continue(char):
            continue
        parts = [ord(part) for part in unicodedata.normalize("NFKD", char)]
        if parts != [point]:
            rows.append((point, len(pool), len(parts)))
            pool.extend(parts)
    out.append("/* code point, where its full compatibility decomposition starts in the pool, its length */")
    out.append("static const pel_decomposition decompositions[] = {")
    row = [f"{{0x{point:X},{start},{count}}}," for point, start, count in rows]
    out.extend("".join(row[i : i + 6]) for i in range(0, len(row), 6))
    out.append("};\n")
    put_numbers(out, "uint32_t", "decomposition_pool", pool, "0x{:X}")

    classes = []
    for point in ALL_POINTS:
        combining = unicodedata.combining(chr(point))
        if not combining:
            continue
        if classes and classes[-1][1] == point - 1 and classes[-1][2] == combining:
            classes[-1][1] = point
        else:
            classes.append([point, point, combining])
    out.append("/* first, last, canonical combining class; all others are 0 */")
    put_valued_ranges(out, "combining_classes", classes)

    pairs = []
    for point in ALL_POINTS:
        if point in HANGUL_SYLLABLES:
            continue
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(point):
                pairs.append((first, second, point))
    out.append("/* starter, what follows it, what they make; sorted */")
    out.append("static const pel_composition compositions[] = {")
    row = [f"{{0x{a:X},0x{b:X},0x{c:X}}}," for a, b, c in sorted(pairs)]
    out.extend("".join(row[i : i + 5]) for i in range(0, len(row), 5))
    out.append("};\n")


def is_algorithmic(point, name):
    return point in HANGUL_SYLLABLES or name == f"CJK UNIFIED IDEOGRAPH-{point:X}"


def all_names():
    """Every name that a \\N{} escape takes, but for the algorithmic ones, with its code point."""
    found = {}
    for point in ALL_POINTS:
        name = unicodedata.name(chr(point), None)
        if name and not is_algorithmic(point, name):
            found[name] = point
    found.update(aliases())
    return sorted(found.items())


def aliases():
    """unicodedata knows the aliases (NameAliases.txt of Unicode) but does not list them; so this file does."""
    names = [name.strip() for name in ALIASES.split(";")] + [f"VS{number}" for number in range(1, 257)]
    return {name: ord(unicodedata.lookup(name)) for name in names if name}


def byte_pairs(texts, n_codes):
    """Byte pair encoding: the most frequent pair of codes becomes a new code, n_codes times.
    Returns the pairs and the encoded texts. Codes below 128 are ASCII."""
    sequences = [list(text.encode()) for text in texts]
    counts = collections.Counter()
    where = collections.defaultdict(set)
    for i, sequence in enumerate(sequences):
        for pair in zip(sequence, sequence[1:]):
            counts[pair] += 1
            where[pair].add(i)
    pairs = []
    for code in range(128, 128 + n_codes):
        best = max(counts, key=lambda pair: (counts[pair], pair))
        pairs.append(best)
        for i in list(where[best]):
            old = sequences[i]
            for pair in zip(old, old[1:]):
                counts[pair] -= 1
            new, at = [], 0
            while at < len(old):
                if tuple(old[at : at + 2]) == best:
                    new.append(code)
                    at += 2
                else:
                    new.append(old[at])
                    at += 1
            for pair in zip(new, new[1:]):
                counts[pair] += 1
                where[pair].add(i)
            sequences[i] = new
        del counts[best]
    return pairs, sequences


def varint(value):
    value = value * 2 if value >= 0 else -value * 2 - 1
    result = []
    while value >= 128:
        result.append(value & 127 | 128)
        value >>= 7
    return result + [value]


def put_names(out):
    names = all_names()
    shared, previous = [], ""
    for i, (name, _) in enumerate(names):
        n = 0
        if i % BLOCK:
            while n < min(len(name), len(previous)) and name[n] == previous[n]:
                n += 1
        shared.append(n)
        previous = name
    pairs, coded = byte_pairs([name[n:] for (name, _), n in zip(names, shared)], 128)
    data, index, last_point = [], [], 0
    for i, ((name, point), n, suffix) in enumerate(zip(names, shared, coded)):
        if i % BLOCK == 0:
            index.append(len(data))
            last_point = 0
        data += [n] + suffix + [0] + varint(point - last_point)
        last_point = point
    out.append(f"#define NAMES_PER_BLOCK {BLOCK}")
    out.append(f"#define LONGEST_NAME {max(len(name) for name, _ in names)}")
    out.append(f"/* {len(names)} names in alphabetical order, {BLOCK} to a block. "
               "Each: how many characters it shares with the")
    out.append(" * name before, the rest in byte pair codes up to a 0, the code point minus the one before "
               "(zigzag, 7 bits a byte). */")
    put_numbers(out, "uint8_t", "name_data", data)
    out.append("/* where each block starts */")
    put_numbers(out, "uint32_t", "name_blocks", index)
    out.append("/* what the codes from 128 on stand for: two codes each */")
    put_numbers(out, "uint8_t", "name_pairs", [code for pair in pairs for code in pair])


def main():
    out = [
        f"/* Made by tools/gen_unicode.py from Unicode {unicodedata.unidata_version}; don't edit. */",
        "/* clang-format off */\n",
    ]
    put_ranges(out, "xid_start_ranges", ranges(str.isidentifier))
    put_ranges(out, "xid_continue_ranges", ranges(is_xid_continue))
    put_ranges(out, "printable_ranges", ranges(str.isprintable))
    put_printable_since(out)
    put_normalisation(out)
    put_names(out)
    with open(sys.argv[1], "w") as file:
        file.write("\n".join(out))


ALIASES = """
NULL; NUL; START OF HEADING; SOH; START OF TEXT; STX; END OF TEXT; ETX; END OF TRANSMISSION; EOT; ENQUIRY;
ENQ; ACKNOWLEDGE; ACK; ALERT; BEL; BACKSPACE; BS; CHARACTER TABULATION; HORIZONTAL TABULATION; HT; TAB;
LINE FEED; NEW LINE; END OF LINE; LF; NL; EOL; LINE TABULATION; VERTICAL TABULATION; VT; FORM FEED; FF;
CARRIAGE RETURN; CR; SHIFT OUT; LOCKING-SHIFT ONE; SO; SHIFT IN; LOCKING-SHIFT ZERO; SI; DATA LINK ESCAPE;
DLE; DEVICE CONTROL ONE; DC1; DEVICE CONTROL TWO; DC2; DEVICE CONTROL THREE; DC3; DEVICE CONTROL FOUR; DC4;
NEGATIVE ACKNOWLEDGE; NAK; SYNCHRONOUS IDLE; SYN; END OF TRANSMISSION BLOCK; ETB; CANCEL; CAN; END OF MEDIUM;
EOM; SUBSTITUTE; SUB; ESCAPE; ESC; INFORMATION SEPARATOR FOUR; FILE SEPARATOR; FS;
INFORMATION SEPARATOR THREE; GROUP SEPARATOR; GS; INFORMATION SEPARATOR TWO; RECORD SEPARATOR; RS;
INFORMATION SEPARATOR ONE; UNIT SEPARATOR; US; SP; DELETE; DEL; PADDING CHARACTER; PAD; HIGH OCTET PRESET;
HOP; BREAK PERMITTED HERE; BPH; NO BREAK HERE; NBH; INDEX; IND; NEXT LINE; NEL; START OF SELECTED AREA; SSA;
END OF SELECTED AREA; ESA; CHARACTER TABULATION SET; HORIZONTAL TABULATION SET; HTS;
CHARACTER TABULATION WITH JUSTIFICATION; HORIZONTAL TABULATION WITH JUSTIFICATION; HTJ; LINE TABULATION SET;
VERTICAL TABULATION SET; VTS; PARTIAL LINE FORWARD; PARTIAL LINE DOWN; PLD; PARTIAL LINE BACKWARD;
PARTIAL LINE UP; PLU; REVERSE LINE FEED; REVERSE INDEX; RI; SINGLE SHIFT TWO; SINGLE-SHIFT-2; SS2;
SINGLE SHIFT THREE; SINGLE-SHIFT-3; SS3; DEVICE CONTROL STRING; DCS; PRIVATE USE ONE; PRIVATE USE-1; PU1;
PRIVATE USE TWO; PRIVATE USE-2; PU2; SET TRANSMIT STATE; STS; CANCEL CHARACTER; CCH; MESSAGE WAITING; MW;
START OF GUARDED AREA; START OF PROTECTED AREA; SPA; END OF GUARDED AREA; END OF PROTECTED AREA; EPA;
START OF STRING; SOS; SINGLE GRAPHIC CHARACTER INTRODUCER; SGC; SINGLE CHARACTER INTRODUCER; SCI;
CONTROL SEQUENCE INTRODUCER; CSI; STRING TERMINATOR; ST; OPERATING SYSTEM COMMAND; OSC; PRIVACY MESSAGE; PM;
APPLICATION PROGRAM COMMAND; APC; NBSP; SHY; LATIN CAPITAL LETTER GHA; LATIN SMALL LETTER GHA; CGJ; ALM;
SYRIAC SUBLINEAR COLON SKEWED LEFT; KANNADA LETTER LLLA; LAO LETTER FO FON; LAO LETTER FO FAY; LAO LETTER RO;
LAO LETTER LO; TIBETAN MARK BKA- SHOG GI MGO RGYAN; HANGUL JONGSEONG YESIEUNG-KIYEOK;
HANGUL JONGSEONG YESIEUNG-SSANGKIYEOK; HANGUL JONGSEONG SSANGYESIEUNG; HANGUL JONGSEONG YESIEUNG-KHIEUKH;
FVS1; FVS2; FVS3; MVS; FVS4; ZWSP; ZWNJ; ZWJ; LRM; RLM; LRE; RLE; PDF; LRO; RLO; NNBSP; MMSP; WJ; LRI; RLI;
FSI; PDI; WEIERSTRASS ELLIPTIC FUNCTION; MICR ON US SYMBOL; MICR DASH SYMBOL;
LEFTWARDS TRIANGLE-HEADED ARROW WITH DOUBLE VERTICAL STROKE;
RIGHTWARDS TRIANGLE-HEADED ARROW WITH DOUBLE VERTICAL STROKE; YI SYLLABLE ITERATION MARK;
MYANMAR LETTER KHAMTI LLA; PRESENTATION FORM FOR VERTICAL RIGHT WHITE LENTICULAR BRACKET; BYTE ORDER MARK;
BOM; ZWNBSP; CUNEIFORM SIGN NU11 TENU; CUNEIFORM SIGN NU11 OVER NU11 BUR OVER BUR;
MEDEFAIDRIN CAPITAL LETTER H; MEDEFAIDRIN CAPITAL LETTER NG; MEDEFAIDRIN SMALL LETTER H;
MEDEFAIDRIN SMALL LETTER NG; HENTAIGANA LETTER E-1; BYZANTINE MUSICAL SYMBOL FTHORA SKLIRON CHROMA VASIS;
"""

if __name__ == "__main__":
    main()
