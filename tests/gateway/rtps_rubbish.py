#!/usr/bin/env python3
"""Sends packets of RTPS that are damaged or wrong in each part to the ports of a domain of DDS on this machine: headers,
submessages, lists of parameters of participants and of their ends (user data, names, addresses), and genuine
announcements, which it hears, with some bytes changed. Only Python's own modules.

usage: rtps_rubbish.py DOMAIN SEED PACKETS

It prints how many packets it has sent, and how many of them were made of genuine ones.
"""
import random
import socket
import struct
import sys

GROUP = "239.255.0.1"
READERS = [0, 0x000100C7, 0x000003C7, 0x000004C7, 0x000200C7, 0x00000104, 0x00000107]
WRITERS = [0, 0x000100C2, 0x000003C2, 0x000004C2, 0x000200C2, 0x00000103, 0x00000102]
KINDS = [0x01, 0x06, 0x07, 0x08, 0x09, 0x0C, 0x0D, 0x0E, 0x0F, 0x12, 0x13, 0x15, 0x16, 0x30, 0x31, 0x7F, 0x80, 0xFF]
PARAMETERS = [0x0000, 0x0001, 0x0002, 0x0005, 0x0007, 0x000B, 0x000C, 0x0015, 0x0016, 0x001A, 0x001D, 0x0023, 0x002C, 0x002D, 0x002E,
              0x0029, 0x0030, 0x0031, 0x0032, 0x0033, 0x0034, 0x0048, 0x0050, 0x0058, 0x0059, 0x005A, 0x0062, 0x0070, 0x0071,
              0x0073, 0x0075, 0x1001, 0x3F03, 0x4000, 0x8007, 0x8019, 0xC001]


class Rubbish:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.prefix = bytes(self.random.randrange(256) for _ in range(12))

    def bytes(self, count):
        return self.random.randbytes(count)

    def number(self):
        return self.random.choice([0, 1, 2, 255, 256, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, self.random.randrange(1 << 32)])

    def string(self):
        text = self.random.choice([b"", b"rt/cmd_vel", b"rq/get_entitiesRequest", b"ros_discovery_info", b"x" * 5000, self.bytes(40)])
        length = self.random.choice([len(text) + 1, len(text) + 1, 0, self.number()])
        return struct.pack("<I", length) + text + b"\0" * (4 - len(text) % 4)

    def user_data(self):
        data = self.random.choice([b"", b"clientid=", b"clientid=" + b"a" * 3000 + b";", b"serviceid=1;" * 400, b";" * 900, b"=" * 300,
                                   b"typehash=RIHS01_;", b"enclave=/;", self.bytes(200), b"\0" * 50, b"clientid=a\0b;"])
        length = self.random.choice([len(data), len(data), self.number()])
        return struct.pack("<I", length) + data + b"\0" * (-len(data) % 4)

    def parameter(self):
        name = self.random.choice(PARAMETERS)
        value = self.bytes(4 * self.random.randrange(10))
        if name in (0x0005, 0x0007, 0x0062, 0x0059):
            value = self.string()
        elif name in (0x002C, 0x002D, 0x002E):
            value = self.user_data()
        elif name in (0x0031, 0x0032, 0x0033, 0x0030):
            value = struct.pack("<II", self.random.choice([1, 1, 2, 4, self.number()]), self.random.choice([1, 7411, self.number()]))
            value += self.random.choice([b"\0" * 12 + b"\x7f\0\0\1", self.bytes(16)])
        elif name in (0x0050, 0x005A):
            value = self.prefix + struct.pack(">I", self.random.choice([0x1C1, 0x103, self.number()]))
        elif name == 0x0002:
            value = struct.pack("<iI", self.random.choice([0, 1, -1, 0x7FFFFFFF]), self.number())
        length = self.random.choice([len(value)] * 8 + [0, 1, 3, 0xFFFC, 0xFFFF, len(value) + 4])
        return struct.pack("<HH", name, length & 0xFFFF) + value

    def parameters(self):
        end = self.random.choice([struct.pack("<HH", 1, 0)] * 4 + [b""])
        known = struct.pack("<HHBBBB", 0x15, 4, 2, 1, 0, 0) + struct.pack("<HHBBBB", 0x16, 4, 1, 16, 0, 0)
        known += struct.pack("<HH", 0x50, 16) + self.prefix + b"\0\0\1\xc1" + struct.pack("<HHII", 0x58, 4, 0xC3F, 0)[:8]
        most = self.random.choice([b"", known, known])
        return struct.pack(">HH", self.random.choice([3, 3, 3, 2, 1, 0, 9, 0xFFFF]), 0) + most + b"".join(
            self.parameter() for _ in range(self.random.randrange(12))) + end

    def body(self, kind):
        ends = struct.pack(">II", self.random.choice(READERS), self.random.choice(WRITERS))
        first, last = self.random.choice([(0, 1), (0, 2), (-1, 0), (0x7FFFFFFF, 0xFFFFFFFF), (0, self.number())]), (0, self.number())
        number = struct.pack("<iI", first[0], first[1] & 0xFFFFFFFF)
        if kind == 0x15:
            return struct.pack("<HH", 0, self.random.choice([16, 16, 16, 0, 8, 0xFFFF])) + ends + number + self.parameters()
        if kind == 0x16:
            return struct.pack("<HH", 0, 28) + ends + number + struct.pack(
                "<IHHI", self.number(), self.random.choice([0, 1, 0xFFFF]), self.random.choice([0, 1, 1024, 0xFFFF]), self.number()
            ) + self.parameters()
        if kind == 0x07:
            return ends + number + struct.pack("<iI", *last) + struct.pack("<I", self.number())
        if kind in (0x06, 0x08, 0x12):
            return ends + number + struct.pack("<I", self.number()) + self.bytes(4 * self.random.randrange(9))
        if kind == 0x0E:
            return self.random.choice([b"\0" * 12, self.bytes(12), self.bytes(3)])
        return self.bytes(self.random.randrange(64))

    def submessage(self):
        kind = self.random.choice(KINDS + [0x15] * 20)
        body = self.body(kind)
        length = self.random.choice([len(body)] * 9 + [0, 1, 0xFFFF, len(body) + 8])
        flags = self.random.choice([1, 1, 5, 5, 5, 3, 7, 0, 0xFF])
        return struct.pack("<BBH", kind, flags, length & 0xFFFF) + body

    def packet(self):
        if self.random.randrange(8) == 0:
            self.prefix = b"\x01\x10" + self.bytes(10)
        if self.random.randrange(20) == 0:
            return self.bytes(self.random.randrange(200))
        head = self.random.choice([b"RTPS"] * 9 + [b"RTPX"]) + bytes([2, self.random.choice([1, 2, 4, 255]), 1, 16])
        return (head + self.prefix + b"".join(self.submessage() for _ in range(1 + self.random.randrange(4))))[:60000]

    def damaged(self, packet):
        packet = bytearray(packet)
        for _ in range(1 + self.random.randrange(6)):
            at = self.random.randrange(len(packet))
            what = self.random.randrange(4)
            if what == 0:
                packet[at] = self.random.randrange(256)
            elif what == 1:
                packet[at:at + 4] = struct.pack("<I", self.number())
            elif what == 2:
                del packet[at:at + 1 + self.random.randrange(8)]
            else:
                packet[at:at] = self.bytes(1 + self.random.randrange(8))
            if not packet:
                packet += b"RTPS"
        return bytes(packet)


def main():
    domain, seed, count = (int(word) for word in sys.argv[1:4])
    base = 7400 + 250 * domain
    rubbish = Rubbish(seed)
    heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    heard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    heard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    heard.bind(("", base))
    try:
        heard.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + socket.inet_aton("0.0.0.0"))
    except OSError:
        pass  # no multicast: nothing genuine is heard
    heard.settimeout(3)
    genuine = []
    try:
        while len(genuine) < 4:
            genuine.append(heard.recv(65536))
    except socket.timeout:
        pass
    heard.close()
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
    places = [("127.0.0.1", base + 10 + i) for i in range(4)] + [(GROUP, base), (GROUP, base + 1)]
    made = sent = 0
    for i in range(count):
        from_genuine = bool(genuine) and i % 3 == 0
        packet = rubbish.damaged(rubbish.random.choice(genuine)) if from_genuine else rubbish.packet()
        try:
            out.sendto(packet, places[i % len(places)])
            sent += 1
            made += from_genuine
        except OSError:
            pass  # nobody has the port, or there is no multicast
    print(f"sent {sent} genuine {made}")


main()
