import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainJsonType, weighTypes } from '../../../src/http/middleware/json-type.ts';
import { jsonType } from '../../../src/http/request/negotiation.ts';
import { jsonAnswer } from '../../../src/http/response/responses.ts';
import type { Handler } from '../../../src/http/routing/handler.ts';
import { contextOf } from './support.ts';

const JSON_TYPE = 'application/json';
const TEXT_TYPE = 'text/plain; charset=utf-8';

describe('the type of JSON without weighing', () => {
  test.each([
    [undefined, TEXT_TYPE],
    ['', TEXT_TYPE],
    ['*/*', TEXT_TYPE],
    ['application/json', JSON_TYPE],
    ['Application/JSON', JSON_TYPE],
    // What axios, jQuery and a browser that opens a page send.
    ['application/json, text/plain, */*', JSON_TYPE],
    ['application/json, text/javascript, */*; q=0.01', JSON_TYPE],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8', TEXT_TYPE],
    ['text/plain, application/json', TEXT_TYPE],
    ['application/json, text/plain;q=0.5', undefined],
    ['text/plain;q=0, */*', undefined],
    ['application/*', undefined],
    ['application/json;q=0', undefined],
  ])('%s: %s', (accept, type) => {
    expect(plainJsonType(accept)).toBe(type);
  });

  test('is what weighing comes to', () => {
    const type = fc.constantFrom(
      ...['application/json', 'text/plain', '*/*', 'application/*', 'text/*', 'text/html', 'application/xml', '*/json'],
      ...['*/plain', 'application/jsonp', 'nonsense', '', 'APPLICATION/JSON', 'Text/Plain', 'image/png'],
    );
    const parameter = fc.constantFrom(
      '',
      '',
      '',
      ';q=0',
      ';q=0.5',
      '; q=1',
      ';charset=utf-8',
      ';charset=utf-8;q=0.3',
      ';a="b"',
    );
    const range = fc.tuple(type, parameter).map(([name, rest]) => `${name}${rest}`);
    fc.assert(
      fc.property(fc.array(range, { maxLength: 5 }), fc.constantFrom(',', ', '), (ranges, separator) => {
        const accept = ranges.join(separator);
        const plain = plainJsonType(accept);
        if (plain !== undefined) expect(plain).toBe(jsonType(accept));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('an answer to who has to be weighed', () => {
  const hello: Handler = (context) => jsonAnswer(context, 200, '{}');
  const accept = 'text/plain;q=0.2, application/json;q=0.3';

  test('has the type that it wants', async () => {
    const answer = await weighTypes(hello)(contextOf({ headers: { accept } }));
    expect(answer.headers['content-type']).toBe(JSON_TYPE);
  });

  test('is plain text where what weighs it can not be loaded', async () => {
    const functionHandlers = () => Promise.reject(new Error('no file'));
    const answer = await weighTypes(hello)(contextOf({ headers: { accept } }, {}, '', { functionHandlers }));
    expect([answer.status, answer.headers['content-type']]).toEqual([200, TEXT_TYPE]);
  });
});
