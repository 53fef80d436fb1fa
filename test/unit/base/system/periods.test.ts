import { describe, expect, test } from 'vitest';
import { parsePeriod } from '../../../../src/base/system/periods.ts';

describe('periods (docs/http/databases.md#automatic-purge)', () => {
  test.each([
    ['1_sec', 1],
    ['90_seconds', 90],
    ['5_min', 300],
    ['5_minutes', 300],
    ['3_hours', 10_800],
    ['90_days', 7_776_000],
    ['2_week', 1_209_600],
    ['3_mon', 7_776_000],
    ['3_months', 7_776_000],
    ['infinity', Number.POSITIVE_INFINITY],
  ])('%s has %d seconds', (text, seconds) => {
    expect(parsePeriod(text)).toBe(seconds);
  });

  test.each([
    '',
    '3',
    '3_',
    'mon',
    '0_days',
    '-3_days',
    '03_days',
    '1.5_days',
    '3_years',
    '3_monday',
    '3_days_',
    ' 3_days',
    '3_DAYS',
  ])('"%s" is none', (text) => {
    expect(parsePeriod(text)).toBeUndefined();
  });
});
