import { describe, expect, test } from 'vitest';
import { formatTrace, parseTrace, traceHeaders } from '../../../../src/node/tracing/trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const parse = (traceparent: string, tracestate?: string) => parseTrace({ traceparent, tracestate });

describe('traceparent', () => {
  test.each([
    [`00-${TRACE}-${PARENT}-01`, 1],
    [`00-${TRACE}-${PARENT}-00`, 0],
    // Unknown flags are not passed on.
    [`00-${TRACE}-${PARENT}-ff`, 3],
    // Later versions may have more behind a dash.
    [`01-${TRACE}-${PARENT}-01`, 1],
    [`fe-${TRACE}-${PARENT}-01-what comes later`, 1],
  ])('%s is taken over', (text, flags) => {
    expect(parse(text)).toMatchObject({ traceId: TRACE, parentId: PARENT, flags });
  });

  test.each([
    '',
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE}-${PARENT}-01-`,
    `01-${TRACE}-${PARENT}-01.`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}`,
    ` 00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01\n`,
    // Node joins several headers of one name.
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
  ])('%j is ignored', (text) => {
    expect(parse(text)).toBeUndefined();
  });

  test('what is sent on has a parent of its own, in the known version', () => {
    const trace = parse(`cc-${TRACE}-${PARENT}-01-x`);
    expect(trace?.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(trace?.spanId).not.toBe(PARENT);
    expect(trace && formatTrace(trace)).toBe(`00-${TRACE}-${trace?.spanId}-01`);
    expect(parse(`00-${TRACE}-${PARENT}-01`)?.spanId).not.toBe(trace?.spanId);
  });
});

describe('tracestate', () => {
  const stateOf = (tracestate: string) => parse(`00-${TRACE}-${PARENT}-01`, tracestate)?.state;

  test.each([
    ['rojo=00f067aa0ba902b7,congo=t61rcWkgMzE', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'],
    ['a=1 , b=2\t,,c@d= x', 'a=1,b=2,c@d= x'],
    [' ', undefined],
    ['a', undefined],
    ['a=', undefined],
    ['A=1', undefined],
    ['a=1,a=2', undefined],
    ['a=é', undefined],
    [Array.from({ length: 33 }, (_, number) => `k${number}=v`).join(), undefined],
  ])('%j becomes %j', (text, state) => {
    expect(stateOf(text)).toBe(state);
  });

  test('keeps as many of its first members as fit into 512 characters', () => {
    const member = (key: string) => `${key}=${'v'.repeat(250)}`;
    expect(stateOf(['a', 'b', 'c'].map(member).join())).toBe(`${member('a')},${member('b')}`);
  });

  test('is nothing without a valid traceparent', () => {
    expect(parseTrace({ tracestate: 'a=1' })).toBeUndefined();
    const trace = parse(`00-${TRACE}-${PARENT}-01`, 'a=1');
    expect(trace && traceHeaders(trace)).toEqual({ traceparent: `00-${TRACE}-${trace?.spanId}-01`, tracestate: 'a=1' });
  });
});
