import countries from 'world-countries';

/** 250 real documents with names in many scripts, with ISO codes as ids. */
export function countryDocuments(): Array<{ readonly _id: string } & Readonly<Record<string, unknown>>> {
  return countries.map((country) => ({ _id: country.cca3, ...country }));
}
