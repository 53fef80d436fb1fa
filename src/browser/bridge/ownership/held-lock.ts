/** A Web Lock that is held until it is released here, or stolen by another client. */
export interface HeldLock {
  /** Resolves when the lock was stolen; never after `release`. */
  readonly stolen: Promise<void>;
  release(): void;
}

/**
 * Waits for an exclusive lock. Resolves to undefined if it is not available (`ifAvailable`) or no longer wanted (`signal`).
 * Fails with the lock manager's error.
 */
export function holdLock(locks: LockManager, name: string, options: LockOptions): Promise<HeldLock | undefined> {
  return new Promise((resolve, reject) => {
    let isHeld = false;
    let isReleased = false;
    let noteTheft: () => void = () => {};
    const stolen = new Promise<void>((note) => {
      noteTheft = note;
    });
    const hold = (lock: Lock | null): Promise<void> | undefined => {
      if (lock === null) {
        resolve(undefined);
        return undefined;
      }
      isHeld = true;
      return new Promise((letGo) => {
        const release = (): void => {
          isReleased = true;
          letGo();
        };
        resolve({ stolen, release });
      });
    };
    locks.request(name, options, hold).catch((error: unknown) => {
      // The request of a stolen lock fails, whatever its holder does; so does one that was given up.
      if (isHeld && !isReleased) noteTheft();
      else if (options.signal?.aborted) resolve(undefined);
      else if (!isHeld) reject(error);
    });
  });
}

/** Whether any client holds the lock. */
export async function isHeld(locks: LockManager, name: string): Promise<boolean> {
  const { held = [] } = await locks.query();
  return held.some((lock) => lock.name === name);
}
