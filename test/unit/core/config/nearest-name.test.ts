import { expect, test } from 'vitest';
import { nearestName } from '../../../../src/core/config/setting-refusals.ts';

const names = ['httpd/port', 'httpd/enable_cors', 'log/level', 'log/file'];

test.each([
  ['httpd/prot', 'httpd/port'],
  ['httpd/enable_cros', 'httpd/enable_cors'],
  ['log/levle', 'log/level'],
  ['lug/file', 'log/file'],
  ['httpd/port', 'httpd/port'],
  ['something/else_altogether', undefined],
  ['', undefined],
])('the nearest name to %j is %j', (text, name) => {
  expect(nearestName(text, names)).toBe(name);
});
