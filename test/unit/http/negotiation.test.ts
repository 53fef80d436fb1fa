import { describe, expect, test } from 'vitest';
import { accepts, jsonType } from '../../../src/http/request/negotiation.ts';

const JSON_TYPE = 'application/json';
const TEXT_TYPE = 'text/plain; charset=utf-8';

describe('the type of JSON text', () => {
  test.each([
    ['*/*', TEXT_TYPE],
    ['application/json', JSON_TYPE],
    ['APPLICATION/JSON', JSON_TYPE],
    ['application/*', JSON_TYPE],
    ['application/json;q=0.9', JSON_TYPE],
    ['application/json; charset=utf-8', JSON_TYPE],
    ['application/json, text/plain, */*', JSON_TYPE],
    ['application/json, */*;q=0.1', JSON_TYPE],
    ['text/html, application/json', JSON_TYPE],
    ['text/plain, application/json;q=0.5', TEXT_TYPE],
    ['application/json;q=0', TEXT_TYPE],
    ['text/html', TEXT_TYPE],
    ['multipart/mixed', TEXT_TYPE],
    ['application/jsonp', TEXT_TYPE],
    ['', TEXT_TYPE],
    [',;"', TEXT_TYPE],
    ['no type at all', TEXT_TYPE],
  ])('Accept: %s', (accept, type) => {
    expect(jsonType(accept)).toBe(type);
  });
});

describe('multipart is acceptable', () => {
  test.each([
    [undefined, true],
    ['*/*', true],
    ['multipart/mixed', true],
    ['multipart/*;q=0.1', true],
    ['application/json, multipart/mixed', true],
    ['application/json', false],
    ['multipart/related', false],
    ['*/*, multipart/mixed;q=0', false],
  ])('Accept: %s', (accept, expected) => {
    expect(accepts(accept, 'multipart/mixed')).toBe(expected);
  });
});
