/** Work that is wanted again while it runs is done once more after that, however often it was wanted. */
export function coalesce(work: () => Promise<void>): () => Promise<void> {
  let isWanted = false;
  let running: Promise<void> | undefined;
  const run = async () => {
    while (isWanted) {
      isWanted = false;
      await work();
    }
  };
  return () => {
    isWanted = true;
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
}
