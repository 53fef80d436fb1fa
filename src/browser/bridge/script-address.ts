/** Addresses of Settee's scripts, as browsers accept them under `require-trusted-types-for 'script'` (W3C Trusted Types, 2.2). */

interface ScriptPolicy {
  /** Returns a TrustedScriptURL, which replaces the string. */
  createScriptURL(address: string): string;
}

interface PolicyFactory {
  createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy;
}

/** One for each page and worker, since a policy may be created only once. */
let policy: ScriptPolicy | undefined;

/**
 * Returns the address, by the policy `settee` if the browser has such policies. Throws a TypeError if the directive `trusted-types` doesn't allow
 * that name. The browser itself loads workers only from the page's own origin.
 */
export function scriptAddress(url: URL): string {
  const { trustedTypes }: { readonly trustedTypes?: PolicyFactory } = Object(globalThis);
  if (!trustedTypes) return url.href;
  policy ??= trustedTypes.createPolicy('settee', { createScriptURL: (address) => address });
  return policy.createScriptURL(url.href);
}
