/** The settings of statistics: how often samples are taken, and for which time windows they are shown. */
import { DatabaseError } from '../errors/database-error.ts';
import { positiveSetting } from './config.ts';
import type { Config } from './contract.ts';

const DEFAULT_RATE_MS = 1_000;
/** Maximum number of samples kept for each statistic. */
const MOST_SAMPLES = 3_600;

export function sampleRateMs(config: Config): number {
  return positiveSetting(config, 'stats', 'rate') ?? DEFAULT_RATE_MS;
}

/** Returns seconds; 0 means all the time. Fails with `bad_request` if it is not a JSON list of whole numbers, and on too many samples. */
export function sampleWindows(config: Config): readonly number[] {
  const text = config.get('stats', 'samples') ?? '[0]';
  const windows = parse(text);
  if (windows !== undefined && (Math.max(...windows) * 1_000) / sampleRateMs(config) <= MOST_SAMPLES) return windows;
  const reason = `Setting stats/samples is "${text}"; it must be a list of seconds, such as [0, 60, 300, 900], each no longer than ${MOST_SAMPLES} times stats/rate.`;
  throw new DatabaseError('bad_request', reason);
}

function parse(text: string): readonly number[] | undefined {
  if (!/^\[\s*\d{1,9}(\s*,\s*\d{1,9}){0,31}\s*\]$/.test(text)) return undefined;
  return text.slice(1, -1).split(',').map(Number);
}
