#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Keys for the demo: written to etcd over its HTTP gateway, remembered in a
file outside the pool once etcd has acknowledged them, and read back.

demo-keys.py wait | fill N | verify | write-until-it-fails
"""
import base64
import hashlib
import http.client
import json
import sys
import time

REMEMBERED = '/tmp/demo-acknowledged'
BATCH = 100


def b64(text):
    return base64.b64encode(text.encode()).decode()


def value_of(key):
    """The value follows from the key, so that a wrong byte shows."""
    return key + ':' + hashlib.sha256(key.encode()).hexdigest() * 4


class Etcd:
    def __init__(self, timeout=60):
        self.connection = http.client.HTTPConnection('127.0.0.1', 2379, timeout=timeout)

    def post(self, path, body):
        self.connection.request('POST', path, json.dumps(body))
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise OSError('etcd: %d %s' % (answer.status, text[:200]))
        return json.loads(text)

    def put(self, keys):
        puts = [{'requestPut': {'key': b64(k), 'value': b64(value_of(k))}} for k in keys]
        self.post('/v3/kv/txn', {'success': puts})

    def get_all(self):
        answer = self.post('/v3/kv/range', {'key': b64('key'), 'range_end': b64('kez')})
        return {base64.b64decode(kv['key']).decode(): base64.b64decode(kv['value']).decode()
                for kv in answer.get('kvs', [])}


def remembered():
    try:
        with open(REMEMBERED) as f:
            return f.read().split()
    except FileNotFoundError:
        return []


def remember(keys):
    with open(REMEMBERED, 'a') as f:
        f.write(''.join(k + '\n' for k in keys))


def names(start, count):
    return ['key%08d' % i for i in range(start, start + count)]


def wait():
    for _ in range(120):
        try:
            return Etcd(timeout=5).get_all() is not None
        except (OSError, http.client.HTTPException, ValueError):
            time.sleep(1)
    sys.exit(1)


def fill(count):
    etcd, start = Etcd(), len(remembered())
    for i in range(start, start + count, BATCH):
        keys = names(i, min(BATCH, start + count - i))
        etcd.put(keys)
        remember(keys)
    print('%d keys written and acknowledged, %d in all.' % (count, start + count))


def verify():
    want, have = remembered(), Etcd().get_all()
    missing = [k for k in want if k not in have]
    wrong = [k for k in have if have[k] != value_of(k)]
    if missing or wrong:
        print('LOST %d KEYS, %d WRONG: %s' % (len(missing), len(wrong), (missing + wrong)[:5]))
        sys.exit(1)
    print('all %d acknowledged keys are there and right.' % len(want))


def write_until_it_fails():
    etcd, start, done = Etcd(timeout=10), len(remembered()), 0
    try:
        while True:
            keys = names(start + done, 5)
            etcd.put(keys)
            remember(keys)
            done += len(keys)
    except (OSError, http.client.HTTPException, ValueError):
        print('power is gone; until then %d more keys were acknowledged.' % done)


def main(args):
    if args[:1] == ['fill']:
        fill(int(args[1]))
    elif args and args[0] in ('wait', 'verify', 'write-until-it-fails'):
        globals()[args[0].replace('-', '_')]()
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
