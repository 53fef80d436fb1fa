/** What keeps a replication from going on, between two attempts and within one, and how lists show that. */
import type { TaskTrouble } from '../../base/system/active-tasks.ts';
import type { PauseState } from '../failure.ts';
import type { Job, JobState } from './job.ts';

/** Times are in milliseconds since the epoch. */
interface Trouble {
  readonly state: PauseState | 'crashing';
  readonly error: string;
  /** Nothing has succeeded since then. */
  readonly since: number | undefined;
  /** Undefined if no attempt is planned, or one is under way. */
  readonly nextAttempt: number | undefined;
}

/** Returns the state that lists show: a replication that repeats a request in vain does not count as running. */
export function shownState(job: Job): JobState {
  return job.state === 'running' ? (presentTrouble(job)?.state ?? 'running') : job.state;
}

/** Returns what its last attempt failed for, as long as nothing has shown that the cause is gone. */
export function troubleOf(job: Job): Trouble | undefined {
  const { state, figures, failures, pauses, pauseState, lastFailure, failingSince, nextAttempt } = job;
  const outage = state === 'running' ? figures?.outage : undefined;
  if (outage !== undefined) {
    const { isOffline = false, reason, since } = outage;
    return {
      state: isOffline ? 'paused' : 'crashing',
      error: reason,
      since: failingSince ?? since,
      nextAttempt: outage.nextAttempt,
    };
  }
  if (lastFailure === undefined || (failures === 0 && pauses === 0)) return undefined;
  return { state: pauses > 0 ? pauseState : 'crashing', error: lastFailure, since: failingSince, nextAttempt };
}

/** An attempt that has reached both databases runs, although earlier failures still count. */
function presentTrouble(job: Job): Trouble | undefined {
  const isRunning = job.state === 'running' && job.hasReached && job.figures?.outage === undefined;
  return isRunning ? undefined : troubleOf(job);
}

/** Returns why it can't go on, since when, and when it is retried; times in milliseconds since the epoch. */
export function failureInfo(error: string, since: number | undefined, nextAttempt: number | undefined) {
  return {
    error,
    ...(since === undefined ? {} : { error_since: timestamp(since) }),
    ...(nextAttempt === undefined ? {} : { next_attempt: timestamp(nextAttempt) }),
  };
}

/** As the list of tasks shows it; undefined while it runs. */
export function taskTrouble(job: Job): TaskTrouble | undefined {
  const trouble = presentTrouble(job);
  return trouble && { state: trouble.state, ...failureInfo(trouble.error, trouble.since, trouble.nextAttempt) };
}

/** RFC 3339, in seconds. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
