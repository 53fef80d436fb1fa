import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';
import { patient } from '../../support/patience.ts';

const tests = join(import.meta.dirname, '..', '..');
/** These measure, so they run on a machine that does nothing else. */
const measuring = /^(bench|hostile|pictures)\//;

type Node = Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

/** Calls of what waits, each with its line, that give up before a busy machine has had its time. */
function impatientWaits(path: string, text: string): string[] {
  if (!/waitFor|waitUntil|poll/.test(text)) return [];
  const { program, errors } = parseSync(path, text, { lang: path.endsWith('x') ? 'tsx' : 'ts', sourceType: 'module' });
  if (errors.length > 0) throw new Error(`${path} can't be parsed: ${errors[0]?.message}`);
  const nodes = [...nodesIn(program)];
  const constants = new Map<unknown, unknown>();
  for (const { type, id, init } of nodes) {
    if (type === 'VariableDeclarator' && isNode(id)) constants.set(id['name'], init);
  }
  return nodes
    .filter((node) => isImpatient(node, constants))
    .map(({ start }) => `${path}:${text.slice(0, Number(start)).split('\n').length}`);
}

function* nodesIn(value: unknown): Generator<Node> {
  if (!isNode(value)) return;
  if (typeof value['type'] === 'string') yield value;
  for (const child of Object.values(value)) yield* nodesIn(child);
}

function isImpatient({ type, callee, arguments: given }: Node, constants: ReadonlyMap<unknown, unknown>): boolean {
  const name = type === 'CallExpression' ? nameOf(callee) : '';
  if (!['vi.waitFor', 'vi.waitUntil', 'expect.poll'].includes(name) || !Array.isArray(given)) return false;
  const options: unknown = given[1];
  const resolved = isNode(options) ? (constants.get(options['name']) ?? options) : undefined;
  const defaultMs = name === 'expect.poll' ? patient.timeout : 0;
  return timeoutOf(resolved, defaultMs) < patient.timeout / 2;
}

function nameOf(callee: unknown): string {
  if (!isNode(callee) || !isNode(callee['object']) || !isNode(callee['property'])) return '';
  return `${callee['object']['name']}.${callee['property']['name']}`;
}

/** What is spread into options, or has a name from elsewhere, is `patient`. */
function timeoutOf(options: unknown, defaultMs: number): number {
  if (!isNode(options)) return defaultMs;
  if (options['type'] !== 'ObjectExpression') return patient.timeout;
  const properties = Array.isArray(options['properties']) ? options['properties'].filter(isNode) : [];
  for (const { key, value } of properties) {
    if (isNode(key) && key['name'] === 'timeout' && isNode(value)) return Number(value['value'] ?? patient.timeout);
  }
  return properties.some(({ type }) => type === 'SpreadElement') ? patient.timeout : defaultMs;
}

test('a loaded machine has its time in every wait', () => {
  const paths = readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /\.tsx?$/.test(path) && !path.includes('node_modules') && !measuring.test(path));
  expect(paths.length).toBeGreaterThan(1000);
  expect(paths.flatMap((path) => impatientWaits(path, readFileSync(join(tests, path), 'utf8')))).toEqual([]);
});

test('the rule finds waits that are too short', () => {
  const seen = (text: string) => impatientWaits('x.ts', text).length;
  expect(seen('await vi.waitFor(() => a());')).toBe(1);
  expect(seen('await vi.waitUntil(() => a(), { interval: 5 });')).toBe(1);
  expect(seen('await expect.poll(a, { timeout: 10_000 }).toBe(1);')).toBe(1);
  expect(seen('const soon = { timeout: 500 }; await expect.poll(a, soon).toBe(1);')).toBe(1);
  expect(seen('await expect.poll(a).toBe(1); await expect.poll(a, { interval: 5 }).toBe(1);')).toBe(0);
  expect(seen('await vi.waitFor(a, patient); await vi.waitUntil(a, { ...patient, interval: 5 });')).toBe(0);
  expect(seen('await expect.poll(a, { timeout: 120_000 }).toBe(1);')).toBe(0);
});
