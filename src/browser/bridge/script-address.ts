/** Addresses of scripts of Settee's, as browsers take them under `require-trusted-types-for 'script'` (W3C Trusted Types, 2.2). */

interface ScriptPolicy {
  /** A TrustedScriptURL, which stands in the place of the string. */
  createScriptURL(address: string): string;
}

interface PolicyFactory {
  createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy;
}

/** One for each page and worker, since a policy may be created once only. */
let policy: ScriptPolicy | undefined;

/**
 * The address, by the policy `settee` where the browser knows such. Throws a TypeError where the directive `trusted-types` doesn't allow that
 * name. The browser itself loads workers from the page's own origin only.
 */
export function scriptAddress(url: URL): string {
  const { trustedTypes }: { readonly trustedTypes?: PolicyFactory } = Object(globalThis);
  if (!trustedTypes) return url.href;
  policy ??= trustedTypes.createPolicy('settee', { createScriptURL: (address) => address });
  return policy.createScriptURL(url.href);
}
