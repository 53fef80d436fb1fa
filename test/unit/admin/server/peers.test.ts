import { expect, test } from 'vitest';
import { peerSentence, peersOf } from '../../../../src/admin/server/peers.ts';

const push = {
  ...{ source: 'library', target: 'example.org/library', isContinuous: true, state: 'running', stateText: 'In sync' },
};

test('peers of a database are the targets of those replications that copy it', () => {
  const replications = [
    push,
    { ...push, source: '127.0.0.1:5984/library', target: 'b' },
    { ...push, source: 'other', target: 'c' },
    { ...push, source: 'example.org/library', target: 'd' },
    { ...push, state: 'completed', target: 'e' },
    { ...push, state: 'failed', target: 'f' },
    { ...push, source: '127.0.0.1:5984/a%2Fb', target: 'g' },
  ];
  const targets = (database: string) => peersOf(database, replications, '127.0.0.1:5984/').map(({ target }) => target);
  expect(targets('library')).toEqual(['example.org/library', 'b']);
  expect(targets('a/b')).toEqual(['g']);
  expect(targets('none')).toEqual([]);
});

test('a write says whom it reaches', () => {
  expect(peerSentence([push, { ...push, target: 'b', isContinuous: false, stateText: 'Copying' }])).toBe(
    'This replicates to peers: example.org/library (continuously; now: in sync), b (once; now: copying). Peers that pull from here get the change, too.',
  );
  expect(peerSentence([])).toContain('No replication of this server copies the database elsewhere.');
  expect(peerSentence(undefined)).toContain('Which ones can’t be seen without admin rights.');
  expect(peerSentence(Array.from({ length: 7 }, () => push))).toContain(', 2 more. Peers');
});
