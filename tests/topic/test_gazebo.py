#!/usr/bin/env python3
"""Compares the messages of gz.msgs in src/topic with Gazebo's own, where Debian's libignition-msgs-dev is installed: a
field that both have must have the same number, type and label, and a field that only ours has must be in the list below.

The last line is "N passed, N failed", counted in messages and enums.
"""
import os
import re
import sys
from pathlib import Path

# What the installed files are too old for. Each is in a later version of Gazebo's messages.
NEWER = {
    "Dataframe", "EntityWrench", "WheelSlipParametersCmd", "PoseWithCovariance", "TwistWithCovariance", "OdometryWithCovariance", "AirSpeed", "AirSpeedSensor",
    "Entity.Type.ACTOR", "Entity.Type.WORLD", "Light.is_light_off", "Light.visualize_visual",
}
# Types of ours that have Gazebo's fields under another name, because it matters there which of them are given.
INSTEAD = {"Physics.Gravity": "Vector3d"}
FOLDERS = ["/usr/include/ignition/msgs8/ignition/msgs", "/usr/include/ignition/msgs9/ignition/msgs"]


def read(text):
    """{message: {field: (number, label and type)}} and {enum: {value: (number, "")}}, nested names joined by dots."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    scopes, found = [], {}
    for token in re.findall(r"[^{};]*[{};]", text):
        statement, end = " ".join(token[:-1].split()), token[-1]
        if end == "{":
            kind, name = re.fullmatch(r"(message|enum|oneof) (\w+)", statement).groups()
            scopes.append(None if kind == "oneof" else name)
            if kind != "oneof":
                found[".".join(s for s in scopes if s)] = {}
        elif end == "}":
            scopes.pop()
        elif scopes and "=" in statement and not re.match(r"(option|reserved)\b", statement):
            kind, name, number = re.fullmatch(r"(.*?)(\w+) = ?(-?\d+)( ?\[.*\])?", statement.replace(" =", " = ")
                                              .replace("  ", " ")).groups()[:3]
            kind = kind.strip().replace("ignition.msgs.", "").replace("gz.msgs.", "")
            found[".".join(s for s in scopes if s)][name] = (int(number), kind)
    return found


def compare(name, ours, theirs):
    """What is wrong with a message or an enum of ours, in lines."""
    if theirs is None:
        # what is in a message that is newer is so, too
        return [] if name.split(".")[0] in NEWER else [f"{name}: Gazebo has no such message"]
    wrong = []
    by_number = {number: field for field, (number, _) in theirs.items()}
    for field, value in ours.items():
        if field in theirs:
            if theirs[field] != value:
                wrong.append(f"{name}.{field}: {value}, but Gazebo has {theirs[field]}")
        elif f"{name}.{field}" not in NEWER:
            wrong.append(f"{name}.{field}: Gazebo has no such field")
        elif value[0] in by_number:
            wrong.append(f"{name}.{field}: its number {value[0]} is that of Gazebo's {by_number[value[0]]}")
    return wrong


def main():
    source = Path(os.environ.get("SOURCE_DIR") or Path(__file__).resolve().parents[2])
    folder = next((Path(f) for f in FOLDERS if Path(f).is_dir()), None)
    if folder is None:
        print("skipped: messages beside Gazebo's: libignition-msgs-dev is not installed")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    theirs, ours = {}, {}
    for path in folder.glob("*.proto"):
        theirs.update(read(path.read_text()))
    for path in sorted((source / "src/topic").glob("*.proto")):
        text = path.read_text()
        if "\npackage gz.msgs;" in text:
            ours.update(read(text))
    passed = failed = 0
    for name in ours:
        fields = {field: (number, INSTEAD.get(f"{name}.{kind}", kind)) for field, (number, kind) in ours[name].items()}
        wrong = compare(name, fields, theirs.get(INSTEAD.get(name, name)))
        for line in wrong:
            print(f"FAILED: {line}")
        failed += bool(wrong)
        passed += not wrong
    # a comparison that compares nothing, or overlooks what differs, is none
    planted = [("Time", {"sec": (2, "int64")}), ("Time", {"secs": (1, "int64")}), ("Time", {"sec": (1, "int32")}),
               ("Nothing", {})]
    for name, fields in planted:
        if not compare(name, fields, theirs.get(name)):
            print(f"FAILED: a difference in {name} was not seen: {fields}")
            failed += 1
    if passed < 100:
        print(f"FAILED: only {passed} messages were compared")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
