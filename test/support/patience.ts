/**
 * How long `vi.waitFor` and `expect.poll` wait for what certainly happens. Their own default, a second, is less than a busy machine's pause. The
 * configurations make this the default of `expect.poll`; `vi.waitFor` has to be given it, which a test (`test/unit/house`) checks.
 */
export const patient = { timeout: 60_000 };
