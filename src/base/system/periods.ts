/** Periods of time as settings and requests have them: a number and a unit, `3_months`, in the family's form. */
import { NO_LIMIT, settingRefusal } from './config.ts';
import type { Config } from './contract.ts';

/** A month has 30 days. */
const SECONDS = { sec: 1, min: 60, hour: 3_600, day: 86_400, week: 604_800, mon: 2_592_000 } as const;

const PERIOD =
  /^([1-9]\d{0,8})_(sec(?=onds?$|s?$)|min(?=utes?$|s?$)|hour(?=s?$)|day(?=s?$)|week(?=s?$)|mon(?=ths?$|s?$))/;

/** Completes "it must be …". */
export const PERIOD_FORMS =
  'a number and a unit such as 90_days or 3_months (sec, min, hour, day, week, month), or infinity';

/** Returns the seconds of a period, infinite for `infinity`; undefined for any other text. */
export function parsePeriod(text: string): number | undefined {
  if (text === NO_LIMIT) return Number.POSITIVE_INFINITY;
  const [, count, unit] = PERIOD.exec(text) ?? [];
  if (count === undefined || unit === undefined) return undefined;
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}

/** Returns the seconds of a setting's period; undefined if it is unset. Fails with `bad_request` on any other text. */
export function periodSetting(config: Config, section: string, key: string): number | undefined {
  const text = config.get(section, key);
  if (text === undefined || text === '') return undefined;
  const seconds = parsePeriod(text);
  if (seconds !== undefined) return seconds;
  throw settingRefusal(`${section}/${key}`, text, PERIOD_FORMS);
}
