/** What search finds. */
export interface SearchEntry {
  /** Where it leads, below the root of the site, without a slash before it. */
  href: string;
  title: string;
  /** What it is a part of. */
  section: string;
  /** Plain. */
  text: string;
}
