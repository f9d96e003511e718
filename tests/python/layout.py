"""Prints a C program that compares the structs and numbers of the Python module with the headers in include/troupe. Each
member must have the same offset and size in both, and each struct the same size. The program prints a line for each that
differs, and ends with "N passed, N failed".

    layout.py >layout.c; cc -I include layout.c -o layout; ./layout"""
import ctypes
import sys

import troupe._library as library

HEADERS = ["client", "command", "gateway", "log", "message", "pool", "record", "report", "server", "world"]
STRUCTS = {"_Error": "struct troupe_error", "_Model": "troupe_model", "_Link": "troupe_link", "_Joint": "troupe_joint",
           "_Sensor": "troupe_sensor", "_ModelState": "struct troupe_model_state",
           "_LinkState": "struct troupe_link_state", "_JointState": "struct troupe_joint_state",
           "_Odometry": "struct troupe_odometry", "_Reading": "struct troupe_reading",
           "_Contact": "struct troupe_contact", "_SceneModel": "struct troupe_scene_model",
           "_SceneLink": "struct troupe_scene_link", "_SceneAxis": "struct troupe_scene_axis",
           "_SceneJoint": "struct troupe_scene_joint", "_Form": "struct troupe_form",
           "_SceneShape": "struct troupe_scene_shape",
           "_SceneSensor": "struct troupe_scene_sensor", "_Scene": "struct troupe_scene",
           "_Snapshot": "struct troupe_snapshot", "_Reply": "struct troupe_reply", "_When": "struct troupe_when",
           "_Limits": "struct troupe_limits", "_Progress": "struct troupe_progress",
           "_Def": "struct troupe_server_def", "_Topic": "struct troupe_topic", "_Topics": "struct troupe_topics",
           "_ClientDef": "struct troupe_client_def", "_Message": "struct troupe_message",
           "_Numbers": "struct troupe_numbers", "_McapTopic": "struct troupe_mcap_topic",
           "_McapDef": "struct troupe_mcap_def", "_LogDef": "struct troupe_log_def", "_Part": "struct troupe_part",
           "_Turn": "struct troupe_turn"}
PARTIAL = {"_Scene"}  # the module leaves out the last members
PLAIN = {"_Pose": "struct troupe_pose", "_Twist": "struct troupe_twist", "_Vec3": "struct troupe_vec3"}
NUMBERS = {"_ERROR_TEXT_BYTES": "TROUPE_ERROR_TEXT_BYTES", "_SECONDARIES_AUTO": "TROUPE_SECONDARIES_AUTO",
           "_PACE_WORLD": "TROUPE_PACE_WORLD", "_PACE_FACTOR": "TROUPE_PACE_FACTOR",
           "_OBSERVE_CONTACTS": "TROUPE_OBSERVE_CONTACTS", "_OBSERVE_EFFORTS": "TROUPE_OBSERVE_EFFORTS",
           "_LATE_REFUSE": "TROUPE_LATE_REFUSE", "_NONE": "TROUPE_NONE", "_READING_NUMBERS": "TROUPE_READING_NUMBERS",
           "_PART_NUMBERS": "TROUPE_PART_NUMBERS"}
LISTS = {"_STATUS": "TROUPE_%s", "_TOPIC_KINDS": "TROUPE_TOPIC_%s", "_JOINT_KINDS": "TROUPE_JOINT_%s", "_PART_KINDS": "TROUPE_PART_%s"}
KINDS = ["BYTE", "FLOAT", "DOUBLE", "UINT32", "INT32", "UINT64", "INT64"]


def checks():
    """(what, expression in C, number)"""
    for name, c in STRUCTS.items():
        struct = getattr(library, name)
        if name not in PARTIAL:
            yield "sizeof " + c, "sizeof(%s)" % c, ctypes.sizeof(struct)
        for member, _ in struct._fields_:
            field = getattr(struct, member)
            yield "offset of %s.%s" % (c, member), "offsetof(%s, %s)" % (c, member), field.offset
            yield "size of %s.%s" % (c, member), "sizeof(((%s *)0)->%s)" % (c, member), field.size
    for name, c in PLAIN.items():
        yield "sizeof " + c, "sizeof(%s)" % c, ctypes.sizeof(getattr(library, name))
    for name, c in NUMBERS.items():
        yield c, c, getattr(library, name)
    for name, pattern in LISTS.items():
        for i, item in enumerate(getattr(library, name)):
            c = pattern % item.upper().replace(" ", "_")
            yield c, c, i
    for i, kind in enumerate(KINDS):
        yield "TROUPE_NUMBER_" + kind, "TROUPE_NUMBER_" + kind, i


def main():
    structs = {value for value in vars(library).values()
               if isinstance(value, type) and issubclass(value, ctypes.Structure) and value is not ctypes.Structure}
    missing = sorted(value.__name__ for value in structs if value.__name__ not in STRUCTS)
    if missing or len(KINDS) != len(library._NUMBER_KINDS):
        sys.exit("layout.py: expected a row for each struct and kind: %s" % missing)
    print("".join("#include <troupe/%s.h>\n" % name for name in HEADERS) + "#include <stddef.h>\n#include <stdio.h>\n")
    print("int main(void)\n{\n\tint passed = 0, failed = 0;")
    for what, expression, number in checks():
        print('\tif ((long long)(%s) == %dLL)\n\t\tpassed++;\n\telse if (++failed)\n\t\tprintf("%s: %%lld, and %d in '
              'Python\\n", (long long)(%s));' % (expression, number, what, number, expression))
    print('\tprintf("%d passed, %d failed\\n", passed, failed);\n\treturn failed > 0;\n}')


main()
