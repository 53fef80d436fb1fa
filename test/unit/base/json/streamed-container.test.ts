import { expect, test } from 'vitest';
import { StreamedContainer } from '../../../../src/base/json/streamed-container.ts';

/** The part of the text that belongs to the container at its beginning. */
function containerIn(text: string): string | undefined {
  const container = new StreamedContainer();
  container.open();
  for (let at = 1; at < text.length; at++) if (container.take(text.charCodeAt(at))) return text.slice(0, at + 1);
  return container.isOpen ? undefined : '';
}

test.each(['{}', '[]', '{"a":[{}]}', '{"}":"\\"}"}', '["\\\\"]'])('%s ends at its own bracket', (text) => {
  expect(containerIn(`${text}]}"`)).toBe(text);
});

test.each(['{', '{"a":{}', '{"}', '["\\"]'])('%s has no end', (text) => {
  expect(containerIn(text)).toBeUndefined();
});
