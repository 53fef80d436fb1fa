/** How long `vi.waitFor` and `expect.poll` wait for what certainly happens. By default it is a second, which is too short on a busy machine. */
export const patient = { timeout: 30_000 };
