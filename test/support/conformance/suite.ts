import type { Capability } from './host.ts';
import type { Toolkit } from './toolkit.ts';

/** One behavior, shown by one run against a fresh database. It throws if the service behaves otherwise. */
export interface Case {
  readonly name: string;
  readonly needs: readonly Capability[];
  /** Shows what the core does with much data, which takes seconds, and nothing of how requests and responses travel. */
  readonly isOfCore: boolean;
  readonly run: (t: Toolkit) => Promise<void>;
}

/** The cases of one subject. Plain data, so that any runner in any environment can take it. */
export interface Suite {
  readonly name: string;
  readonly cases: readonly Case[];
}

/** What a case needs from its host beyond plain requests and responses. */
interface CaseOptions {
  readonly needs?: readonly Capability[];
}

export function suite(name: string, cases: readonly Case[]): Suite {
  return { name, cases };
}

export function test(name: string, run: (t: Toolkit) => Promise<void>, options: CaseOptions = {}): Case {
  return { name, run, needs: options.needs ?? [], isOfCore: false };
}

/** Marks cases as those of the core alone. */
export function ofCore(cases: readonly Case[]): Case[] {
  return cases.map((each) => ({ ...each, isOfCore: true }));
}
