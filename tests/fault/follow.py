#!/usr/bin/env python3
"""Peers that are no good: a primary that a standby follows, and a standby that follows a primary.

usage: follow.py primary PORT     listens; each standby that connects is sent another thing that is not valid; prints it
       follow.py standby PORT     prints 'ready' once it has asked the primary there, which must not have begun; then follows
                                  it several times, and each time says another thing that is not valid
       follow.py secondary PORT STANDBY   the same beginning; then asks the standby, until that follows the primary, as a
                                  secondary that the primary has lost: prints whether it is to come again (1), and why
"""
import os
import socket
import struct
import sys
import time

HELLO, REFUSE, HEARTBEAT, STOP, STEP, FOLLOW = 1, 3, 4, 5, 11, 15
BEGIN, BYTES, COMMIT, RUN, FILES = 1, 2, 3, 4, 5
ROLE_PRIMARY, ROLE_SECONDARY, ROLE_STANDBY = 1, 2, 4
FINGERPRINT_BYTES = 6 * 8  # with its five parts


def numbers(*values):
    return struct.pack('<%dQ' % len(values), *values)


def frame(kind, payload=b''):
    return struct.pack('<IB', len(payload), kind) + payload


def receive(s):
    head = b''
    while len(head) < 5:
        more = s.recv(5 - len(head))
        if not more:
            return None, b''
        head += more
    count, kind = struct.unpack('<IB', head)
    payload = b''
    while len(payload) < count:
        more = s.recv(count - len(payload))
        if not more:
            return None, b''
        payload += more
    return kind, payload


def with_role(hello, role, **changes):
    """The hello of the other side, as that of another process in that role."""
    at = 16 + 8 + struct.unpack('<Q', hello[16:24])[0]  # behind magic, protocol and name
    end = at + 24 + FINGERPRINT_BYTES
    out = hello[:at] + numbers(role) + os.urandom(16) + hello[at + 24:end] + numbers(0, changes.get('secondaries', 0))  # any world
    rest = hello[end + 16:]
    texts = []
    for _ in range(3):
        count = struct.unpack('<Q', rest[:8])[0]
        texts.append(rest[:8 + count])
        rest = rest[8 + count:]
    listen = changes.get('listen', b'')
    return out + b''.join(texts) + bytes(16) + changes.get('run', b'\7' * 16) + numbers(changes.get('term', 1)) + \
        numbers(len(listen)) + listen


STALE_S = 60
RUN_FINE = frame(FOLLOW, numbers(RUN, 1, 1, 0, 0, 0, 1000 * STALE_S) + b'p' * 16)
LIES = [
    ('a hello of another run', None),
    ('rubbish', b'\xff' * 64),
    ('no kind', frame(FOLLOW, b'')),
    ('kind 0', frame(FOLLOW, numbers(0))),
    ('kind 6', frame(FOLLOW, numbers(6))),
    ('files after a recording begins', RUN_FINE + frame(FOLLOW, numbers(BEGIN)) + frame(FOLLOW, numbers(FILES))),
    ('a commit before it said what the run is', frame(FOLLOW, numbers(COMMIT, 7))),
    ('bytes before a recording begins', RUN_FINE + frame(FOLLOW, numbers(BYTES) + b'x')),
    ('a commit before a recording begins', RUN_FINE + frame(FOLLOW, numbers(COMMIT, 7))),
    ('a run without its processes', frame(FOLLOW, numbers(RUN, 1, 2, 0, 0, 0, 400) + b'p' * 16)),
    ('a run of no secondaries', frame(FOLLOW, numbers(RUN, 1, 0, 0, 0, 0, 400))),
    ('a run of too many secondaries', frame(FOLLOW, numbers(RUN, 1, 1 << 40, 0, 0, 0, 400))),
    ('a stale time of 0', frame(FOLLOW, numbers(RUN, 1, 1, 0, 0, 0, 0) + b'p' * 16)),
    ('a limit that is no number', frame(FOLLOW, numbers(RUN, 1, 1, 0, 0) + struct.pack('<d', float('nan')) + numbers(400) + b'p' * 16)),
    ('a run with more behind it', frame(FOLLOW, numbers(RUN, 1, 1, 0, 0, 0, 400, 1) + b'p' * 16)),
    ('a frame that is too long', struct.pack('<IB', 1 << 27, FOLLOW)),
    ('a step', frame(STEP, bytes(64))),
    ('a second hello', None),
    ('a bad stop', frame(STOP, numbers(99))),
    ('rubbish as files', RUN_FINE + frame(FOLLOW, numbers(FILES)) + frame(FOLLOW, numbers(FILES) + b'\xff' * 500) +
     frame(FOLLOW, numbers(BEGIN)) + frame(FOLLOW, numbers(BYTES) + b'x') + frame(FOLLOW, numbers(9))),
    ('rubbish as a recording', RUN_FINE + frame(FOLLOW, numbers(BEGIN)) + frame(FOLLOW, numbers(BYTES) + os.urandom(5000)) +
     frame(FOLLOW, numbers(COMMIT, 3))),
]


def be_primary(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('127.0.0.1', port))
    listener.listen(8)
    listener.settimeout(90)
    for what, bytes_ in LIES:
        s, _ = listener.accept()
        s.settimeout(90)
        _, hello = receive(s)
        ours = with_role(hello, ROLE_PRIMARY, secondaries=1)
        s.sendall(frame(HELLO, ours) + (bytes_ or frame(HELLO, ours)))
        since = time.monotonic()
        while receive(s)[0] is not None:  # until the standby closes
            pass
        if time.monotonic() - since >= STALE_S:
            sys.exit(what + ' was not noticed')  # only the silence after it was
        s.close()
        print(what, flush=True)


def hello_of(port):
    """A primary that waits for its secondaries answers the hello of another protocol with its own."""
    with socket.create_connection(('127.0.0.1', port), 90) as s:
        s.settimeout(90)
        s.sendall(frame(HELLO, b'troupe T' + numbers(1, 1) + b'x'))
        kind, payload = receive(s)
    return payload if kind == HELLO else sys.exit('no hello but frame %s' % kind)


def follow(port, theirs):
    """A connection that is followed by a feed, and the payload of its first frame."""
    for _ in range(1200):
        s = socket.create_connection(('127.0.0.1', port), 90)
        s.settimeout(90)
        s.sendall(frame(HELLO, with_role(theirs, ROLE_STANDBY, listen=b':1', run=bytes(16), term=0)))
        kind, payload = receive(s)
        while kind not in (FOLLOW, REFUSE, None):
            kind, payload = receive(s)
        if kind == FOLLOW:
            return s, payload
        s.close()
        time.sleep(0.05)  # the run has not begun, or another one has just been lost
    sys.exit('never let in')


def be_standby(port):
    theirs = hello_of(port)
    print('ready', flush=True)
    for lie in [frame(HEARTBEAT, numbers(0, 1 << 60)), frame(HEARTBEAT, b'x'), frame(FOLLOW, numbers(COMMIT, 1)), b'\0' * 64,
                frame(STEP, bytes(8)), b'']:
        s, _ = follow(port, theirs)
        s.sendall(lie)
        time.sleep(0.1)
        s.close()
        print('followed', flush=True)


def weigh(port):
    """The bytes of files that a standby gets, and of its first recording."""
    theirs = hello_of(port)
    print('ready', flush=True)
    s, payload = follow(port, theirs)
    kind, files, recordings = FOLLOW, 0, []
    while len(recordings) < 2:
        of, = struct.unpack('<Q', payload[:8]) if kind == FOLLOW else (0,)
        if of == RUN:
            s.sendall(frame(HEARTBEAT, numbers(0) + payload[8:16]))
        elif of == FILES:
            files += len(payload) - 8
        elif of == BEGIN:
            recordings.append(0)
        elif of == BYTES:
            recordings[-1] += len(payload) - 8
        kind, payload = receive(s)
        if kind is None:
            sys.exit('the primary is gone after %d bytes of files and %s' % (files, recordings))
    print('files %d recording %d' % (files, recordings[0]))


def be_secondary(port, standby):
    theirs = hello_of(port)
    print('ready', flush=True)
    at = len(theirs)
    listen = struct.unpack('<Q', theirs[at - 8:])[0]  # a primary's is empty
    assert listen == 0
    run, term = theirs[at - 32:at - 16], struct.unpack('<Q', theirs[at - 16:at - 8])[0]
    ours = with_role(theirs, ROLE_SECONDARY, run=run, term=term)
    for _ in range(1200):
        try:
            with socket.create_connection(('127.0.0.1', standby), 90) as s:
                s.settimeout(90)
                s.sendall(frame(HELLO, ours))
                kind, payload = receive(s)
        except ConnectionRefusedError:
            kind, payload = None, b''
        if kind == REFUSE and payload[-8:] == numbers(0):
            print('again 0: ' + payload[8:-8].decode())
            return
        time.sleep(0.05)
    print('again 1')


if sys.argv[1] == 'weigh':
    weigh(int(sys.argv[2]))
    sys.exit()
if sys.argv[1] == 'secondary':
    be_secondary(int(sys.argv[2]), int(sys.argv[3]))
    sys.exit()
(be_primary if sys.argv[1] == 'primary' else be_standby)(int(sys.argv[2]))
