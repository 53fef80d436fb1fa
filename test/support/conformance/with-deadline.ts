import { patient } from '../patience.ts';

/** How long a response, or a part of one, may take before the case fails. */
export const deadlineMs = patient.timeout;

/** Says nothing about the service's work. */
export class DeadlineError extends Error {
  constructor(name: string) {
    super(`${name} did not come within ${deadlineMs} ms`);
  }
}

export async function withDeadline<T>(awaited: Promise<T>, name: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(name)), deadlineMs);
  });
  try {
    return await Promise.race([awaited, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
