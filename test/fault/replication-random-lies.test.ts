/**
 * Peers that lie at random, about documents, attachments, what they lack, and whether they did what they were asked. Whatever they say, nothing is lost in silence: of all that a
 * checkpoint says to be copied, each leaf of the source is at the target as it is, or was refused by name. And nothing else is there.
 *
 * SETTEE_LIES_SEED repeats the choices of a run; SETTEE_LIES_ROUNDS says how many replications there are.
 */
import { expect, test } from 'vitest';
import type { Core } from '../../src/core/core.ts';
import { roundsOf } from '../support/long-runs.ts';
import { sidesOf, useFlakyEnds } from '../support/replication/flaky-ends.ts';
import { cutOff, type Fault, failure } from '../support/replication/flaky-peer.ts';
import {
  all,
  asCouchDB3,
  bulkGetWith,
  fillWithAllKinds,
  lying,
  openRevsWith,
  RawText,
} from '../support/replication/lying-peer.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { askJson, begin, must, pick, treesOf } from '../unit/replication/support.ts';

const seed = Number(process.env['SETTEE_LIES_SEED'] ?? Date.now() % 2 ** 31);
const rounds = Number(process.env['SETTEE_LIES_ROUNDS'] ?? roundsOf(5, 25));

const ends = useFlakyEnds();

type Change = (document: object, random: SeededRandom) => unknown;

/** What is made of a document. None of them is a document that the source could have. */
const CHANGES: readonly Change[] = [
  (one) => ({ ...one, _id: 'evil' }),
  (one) => ({ ...one, _rev: '9-e', _revisions: { start: 9, ids: ['e', 'f'] } }),
  (one) => ({ ...one, _revisions: { start: 4, ids: ['x', 'y'] } }),
  (one) => ({ ...one, _id: 5 }),
  (one) => ({ ...one, _attachments: 7 }),
  (one) => withAttachments(one, (entry) => ({ ...entry, digest: 'md5-AAAAAAAAAAAAAAAAAAAAAA==' })),
  (one) => withAttachments(one, (entry) => ({ ...entry, length: 1e18 })),
  (one) => withAttachments(one, (entry) => ({ ...entry, length: 3 })),
  (one, random) =>
    withAttachments(one, (entry) =>
      'data' in entry ? { ...entry, data: Buffer.alloc(90_000, random.hexDigits(4)).toString('base64') } : entry,
    ),
  () => [],
  () => 'text',
  () => null,
];

function withAttachments(document: object, change: (entry: object) => object): object {
  const { _attachments = {} } = Object(document);
  const entries = Object.entries<object>(_attachments).map(([name, entry]) => [name, change(entry)]);
  // One that has none would be as it was.
  return entries.length === 0
    ? { ...document, _id: 'none' }
    : { ...document, _attachments: Object.fromEntries(entries) };
}

const LISTS = [
  () => new RawText('<html></html>'),
  () => new RawText('{"results":['),
  () => new RawText('[]'),
  () => new RawText('{"results":[]}'),
  () => new RawText('[null]'),
  () => new RawText('{"results":[5]}'),
  () => new RawText(''),
];

function liesOf(random: SeededRandom, percent: number, source: Core): Fault {
  const documents = lying(/^(POST .*_bulk_get|GET .*open_revs)/, (told) => {
    if (random.chance(percent / 2)) return (random.oneOf(LISTS) ?? LISTS[0])?.();
    const change = (one: object) =>
      random.chance(percent) ? (random.oneOf(CHANGES) ?? CHANGES[0])?.(one, random) : one;
    if (Array.isArray(told)) return openRevsWith(shuffled(told, random, percent), change);
    const { results } = Object(told);
    return bulkGetWith({ results: shuffled(results, random, percent) }, change);
  });
  const attachments: Fault = async ({ request, path, answer }) => {
    const isContent = request.headers.get('accept') === 'multipart/related' || /\/db\/[^/?]+\/[^/?]+\?/.test(path);
    if (request.method !== 'GET' || !isContent || !random.chance(percent)) return undefined;
    const kind = random.between(0, 4);
    if (kind === 0) return failure(404);
    if (kind === 1) return failure(406);
    const response = await answer();
    // What the source stores compressed and sends plain is held to its length alone: see docs/http/README.md.
    const isLengthAll = path.includes('/long-text');
    if (kind === 2 || isLengthAll || response.status >= 300)
      return cutOff(response, random.chance(50) ? 'end' : 'reset');
    const bytes = Buffer.from(await response.arrayBuffer());
    // Of the document in front of it nothing that counts would be known to be wrong.
    const from = kind === 3 ? Math.floor(bytes.length / 2) : Math.max(0, bytes.length - 200);
    if (bytes.length > 0) bytes[from] = (bytes[from] ?? 0) ^ 1;
    return new Response(bytes, { headers: response.headers });
  };
  return all(silentErrors(random, percent), documents, attachments, asCouchDB3(source));
}

/** Requests of any kind that are not carried out, and answered with an error whose status says that they were. */
function silentErrors(random: SeededRandom, percent: number): Fault {
  return () =>
    random.chance(percent / 4) ? Response.json({ error: 'internal_server_error', reason: 'timeout' }) : undefined;
}

function shuffled(list: readonly unknown[], random: SeededRandom, percent: number): unknown[] {
  const kept = list.filter(() => !random.chance(percent));
  const twice = kept.filter(() => random.chance(percent));
  return random.chance(percent) ? [...twice, ...kept].reverse() : [...kept, ...twice];
}

function diffLies(random: SeededRandom, percent: number): Fault {
  const diffs = lying(/_revs_diff/, (told) => {
    const entries = Object.entries(Object(told)).map(([id, one]) => [
      id,
      random.chance(percent) ? garbled(one, random) : one,
    ]);
    if (random.chance(percent)) entries.push(['secret', { missing: ['1-s'] }]);
    return Object.fromEntries(entries);
  });
  return all(silentErrors(random, percent), diffs);
}

function garbled(entry: unknown, random: SeededRandom): unknown {
  const { missing } = Object(entry);
  const forms = [
    true,
    'text',
    7,
    { missing: 5 },
    { missing: [1, 2] },
    { missing: [...missing, '7-x', null] },
    { missing, possible_ancestors: ['2-s', '2-d', '1-root', 9] },
  ];
  return random.oneOf(forms);
}

interface Leaf {
  readonly seq: number;
  readonly text: string;
}

/** Each leaf by id and revision, with the sequence of its document. */
async function leavesOf(core: Core): Promise<Map<string, Leaf>> {
  const { results } = Object(await must(core, 'GET /db/_changes?style=all_docs'));
  const seqs = new Map<string, number>(results.map(({ id, seq }: { id: string; seq: number }) => [id, seq]));
  const leaves = new Map<string, Leaf>();
  for (const [id, tree] of Object.entries(await treesOf(core, 'db'))) {
    for (const text of Object(tree).leaves) {
      leaves.set(`${id} ${JSON.parse(text).ok._rev}`, { text, seq: seqs.get(id) ?? 0 });
    }
  }
  return leaves;
}

test.each(Array.from({ length: rounds }, (_, round) => [seed + round]))(
  'a replication never loses documents silently, whatever peers answer (seed %i)',
  async (one) => {
    const random = new SeededRandom(one);
    const direction = random.chance(70) ? 'pull' : 'push';
    const percent = random.oneOf([3, 10, 30, 60]) ?? 10;
    const { source, target, replication } = sidesOf(ends, direction);
    await fillWithAllKinds(source);
    const own = {
      batchSize: random.between(1, 8),
      retriesPerRequest: random.between(1, 4),
      workers: random.between(1, 3),
    };
    const refused = new Set<string>();
    // Each goes on from the checkpoint of the one before.
    for (let attempt = 0; attempt < 3; attempt++) {
      ends.peer.fault = direction === 'pull' ? liesOf(random, percent, source) : diffLies(random, percent);
      const running = begin(ends.host, { ...replication, ...own });
      const outcome = await running.result.catch((failed: unknown) => failed);
      ends.peer.fault = undefined;
      for (const { id, rev } of running.refused) refused.add(`${id} ${rev}`);
      if (outcome instanceof Error)
        expect(outcome).toMatchObject({ name: 'ReplicationError', reason: expect.any(String) });
      const [status, checkpoint] = await askJson(target, 'GET /db/_local/checkpoint');
      const recorded = status === 404 ? 0 : Number(pick(checkpoint, 'source_last_seq'));
      const there = await leavesOf(target);
      const all = await leavesOf(source);
      for (const [name, { text, seq }] of all) {
        const isDealtWith = there.get(name)?.text === text || refused.has(name) || seq > recorded;
        expect(isDealtWith, `${name}, seed ${one}, attempt ${attempt}`).toBe(true);
      }
      for (const [name, { text }] of there) expect(all.get(name)?.text, `${name}, seed ${one}`).toBe(text);
    }
  },
  120_000,
);
