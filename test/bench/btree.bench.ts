import { compareCodePoints } from '../../src/base/collation/code-points.ts';
import type { NodeReader, TreeChange, TreeRoot, TreeSpec } from '../../src/storage/btree/contract.ts';
import { Tree, type TreeOptions } from '../../src/storage/btree/tree.ts';
import { PageCache } from '../../src/storage/paging/page-cache.ts';

/**
 * What the tree alone costs, on pages in a Map: building, random updates, reads and reductions. Keys are ids of 32
 * hexadecimal digits as JSON strings, values about 90 characters, leaves of 8,160.
 */

export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

type Report = (row: BenchRow) => void;

interface Range {
  readonly count: number;
  readonly most: string;
}

const idSpec: TreeSpec<string, Range> = {
  compare: compareCodePoints,
  encodeKey: (key) => JSON.stringify(key),
  decodeKey: (text) => (text.includes('\\') ? JSON.parse(text) : text.slice(1, -1)),
  separator(left, right) {
    let length = 0;
    while (length < left.length && left.charCodeAt(length) === right.charCodeAt(length)) length += 1;
    return right.slice(0, length + 1);
  },
  reduce(entries) {
    let most = '';
    for (let index = 0; index < entries.length; index += 1) {
      const value = entries.value(index).slice(0, 8);
      if (value > most) most = value;
    }
    return { count: entries.length, most };
  },
  rereduce: (parts) => ({
    count: parts.reduce((sum, part) => sum + part.count, 0),
    most:
      parts
        .map((part) => part.most)
        .sort()
        .at(-1) ?? '',
  }),
};

/** A small linear congruential generator, so that every run measures the same tree. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state;
  };
}

function createIds(count: number, seed: number): string[] {
  const random = createRandom(seed);
  const word = () => random().toString(16).padStart(8, '0');
  return Array.from({ length: count }, () => word() + word() + word() + word());
}

function toChanges(keys: readonly string[]): TreeChange<string>[] {
  return keys.map((key) => ({
    key,
    value: `l${key.slice(0, 30)} 1-${key} 4294967299,12,${key.length}`.padEnd(90, 'x'),
  }));
}

class Medium {
  readonly pages = new Map<number, string>();
  reads = 0;
  #next = 2 ** 32;

  options(cacheBytes: number): TreeOptions<string, Range> {
    const reader: NodeReader = {
      readNode: (page) => {
        this.reads += 1;
        const text = this.pages.get(page);
        if (text === undefined) throw new Error(`page ${page} is missing`);
        return text;
      },
    };
    return { spec: idSpec, reader, cache: new PageCache(cacheBytes), sizes: { leafBytes: 8160, innerBytes: 8160 } };
  }

  store(tree: Tree<string, Range>): { root: TreeRoot; nodes: number } {
    const nodes = tree.unstored(() => ({ page: this.#next++, pages: 1 }));
    let count = 0;
    for (let next = nodes.next(); ; next = nodes.next()) {
      if (next.done) {
        if (next.value === undefined) throw new Error('the tree is empty');
        return { root: next.value, nodes: count };
      }
      count += 1;
      this.pages.set(next.value.page, next.value.text);
      next.value.stored();
    }
  }
}

const ALL_BYTES = 4e9;

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) * 1000;
}

async function build(tree: Tree<string, Range>, changes: readonly TreeChange<string>[]): Promise<Tree<string, Range>> {
  let built = tree;
  for (let from = 0; from < changes.length; from += 1000) {
    ({ tree: built } = await built.update(changes.slice(from, from + 1000)));
  }
  return built;
}

async function runSize(size: number, report: Report): Promise<void> {
  const name = (what: string) => `btree ${what}, ${size.toLocaleString('en')} entries`;
  const medium = new Medium();
  const keys = createIds(size, 1).sort();
  const changes = toChanges(keys);
  let tree = Tree.empty(medium.options(ALL_BYTES));
  const buildTime = await timed(async () => {
    tree = await build(tree, changes);
  });
  report({ name: name('build sorted, batches of 1,000, per entry'), value: buildTime / size, unit: 'µs' });
  let stored = { root: { page: 0, count: 0, bytes: 0 }, nodes: 0 };
  const storeTime = await timed(() => {
    stored = medium.store(tree);
  });
  report({ name: name('store all, per node'), value: storeTime / stored.nodes, unit: 'µs' });
  await runUpdates(medium, stored.root, size, (row) => report({ ...row, name: name(row.name) }));
  await runReads(medium, stored.root, keys, (row) => report({ ...row, name: name(row.name) }));
}

/** Nothing but the root record is in memory at first. */
async function runUpdates(medium: Medium, root: TreeRoot, size: number, report: Report): Promise<void> {
  for (const round of ['cold', 'cold again']) {
    const tree = Tree.open(medium.options(ALL_BYTES), root);
    const changes = toChanges(createIds(1000, size + round.length).sort());
    let updated = tree;
    const updateTime = await timed(async () => {
      ({ tree: updated } = await tree.update(changes));
    });
    let nodes = 0;
    const storeTime = await timed(() => {
      ({ nodes } = medium.store(updated));
    });
    report({ name: `update 1,000 random keys, ${round}, per node`, value: updateTime / nodes, unit: 'µs' });
    report({ name: `store them, ${round}, per node`, value: storeTime / nodes, unit: 'µs' });
    report({ name: `nodes stored, ${round}`, value: nodes, unit: 'nodes' });
  }
}

async function runReads(medium: Medium, root: TreeRoot, keys: readonly string[], report: Report): Promise<void> {
  const tree = Tree.open(medium.options(ALL_BYTES), root);
  const scan = async () => {
    for await (const batch of tree.entries()) if (batch.length === 0) throw new Error('an empty batch');
  };
  report({ name: 'range over all, cold, per entry', value: (await timed(scan)) / keys.length, unit: 'µs' });
  report({ name: 'range over all, warm, per entry', value: (await timed(scan)) / keys.length, unit: 'µs' });
  const random = createRandom(7);
  const someKey = () => keys[random() % keys.length] ?? '';
  const rounds = 20_000;
  const measure = async (what: string, work: () => unknown) => {
    const time = await timed(async () => {
      for (let round = 0; round < rounds; round += 1) {
        const result = work();
        if (result instanceof Promise) await result;
      }
    });
    report({ name: what, value: time / rounds, unit: 'µs' });
  };
  await measure('peek', () => tree.peek(someKey()));
  await measure('peek, second time', () => tree.peek(someKey()));
  await measure('get', () => tree.get(someKey()));
  await measure('count of a random range', () => tree.countRange(randomRange(someKey)));
  await measure('reduce of a random range', () => tree.reduceRange(randomRange(someKey)));
  await measure('first batch after skip of half', () => tree.entries({}, { skip: keys.length >> 1 }).next());
}

function randomRange(someKey: () => string): { start: string; end: string } {
  const [start, end] = [someKey(), someKey()];
  return start < end ? { start, end } : { start: end, end: start };
}

export async function run(report: Report): Promise<void> {
  await runSize(10_000, report);
  await runSize(1_000_000, report);
}
