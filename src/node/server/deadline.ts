/**
 * Waits for `work`, but no longer than `deadlineMs`: then rejects with the error that `describe` returns. The work itself
 * goes on, and its outcome is ignored.
 */
export async function within<T>(work: Promise<T>, deadlineMs: number, describe: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(describe()), deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
