/** An entry that search finds. */
export interface SearchEntry {
  /** Its address, relative to the root of the service. */
  href: string;
  title: string;
  /** The title of the page or part that the entry belongs to. */
  section: string;
  /** Plain text. */
  text: string;
  /** What a page is about. */
  summary?: string;
  /** Ranks the entry, and offers it before anything is typed. */
  kind?: 'operation' | 'guide';
}
