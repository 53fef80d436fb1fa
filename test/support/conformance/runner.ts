import type { Capability, Host } from './host.ts';
import type { Case } from './suite.ts';
import { Toolkit } from './toolkit.ts';

/** Runs cases on a host. The caller chooses which test framework (or none, in a page) shows the outcome. */

/** Why the host can't run the case, or undefined if it can. */
export function reasonToSkip(host: Host, test: Case): string | undefined {
  const lacking = test.needs.filter((need) => host.capabilities[need] !== true);
  return lacking.length === 0 ? undefined : lacking.map((need) => explain(host, need)).join('; ');
}

function explain(host: Host, need: Capability): string {
  return `${need}: ${host.capabilities[need]}`;
}

/** Runs one case in a database of its own; rejects if it fails. `number` makes database names distinct. */
export async function runCase(host: Host, test: Case, number: number): Promise<void> {
  const toolkit = await Toolkit.open(host, `conformance_${number}`);
  try {
    await test.run(toolkit);
  } finally {
    await toolkit.close();
  }
}
