/** Checks that the client still has the right to a change when it is committed. Nearly always nothing has changed, and no check is needed. */
import type { Job } from './jobs.ts';

/** Whether the right of any job may have ended. */
export function areInDoubt(jobs: readonly Job[]): boolean {
  return jobs.some(isInDoubt);
}

/** Returns the jobs whose right is lost, with the reasons. When it resolves no other job's right may have ended. */
export async function findRightless(jobs: readonly Job[]): Promise<ReadonlyMap<Job, unknown>> {
  const rightless = new Map<Job, unknown>();
  while (jobs.some((job) => isInDoubt(job) && !rightless.has(job))) {
    for (const job of jobs) {
      if (!isInDoubt(job) || rightless.has(job)) continue;
      try {
        await job.right?.assert();
      } catch (reason) {
        rightless.set(job, reason);
      }
    }
  }
  return rightless;
}

function isInDoubt({ right }: Job): boolean {
  return right?.isSurelyKept === false;
}
