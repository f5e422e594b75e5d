/** An entry that search finds. */
export interface SearchEntry {
  /** Its address, relative to the root of the site. */
  href: string;
  title: string;
  /** The title of what it belongs to. */
  section: string;
  /** Plain text. */
  text: string;
}
