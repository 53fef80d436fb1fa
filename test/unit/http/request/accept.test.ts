import { describe, expect, test } from 'vitest';
import { accepts, jsonType } from '../../../../src/http/request/accept.ts';

const JSON_TYPE = 'application/json';
const TEXT_TYPE = 'text/plain; charset=utf-8';

describe('JSON text has the right type', () => {
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
    [undefined, TEXT_TYPE],
    ['Application/JSON', JSON_TYPE],
    // What jQuery and a browser that opens a page send.
    ['application/json, text/javascript, */*; q=0.01', JSON_TYPE],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8', TEXT_TYPE],
    ['text/plain, application/json', TEXT_TYPE],
    ['application/json, text/plain;q=0.5', JSON_TYPE],
    ['text/plain;q=0.2, application/json;q=0.3', JSON_TYPE],
  ])('for Accept: %s', (accept, type) => {
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
  ])('for Accept: %s', (accept, expected) => {
    expect(accepts(accept, 'multipart/mixed')).toBe(expected);
  });
});
