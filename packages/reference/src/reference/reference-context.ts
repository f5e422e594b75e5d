/** Where an operation is shown. */
export interface ReferenceContext {
  /** Of the page. */
  readonly path: string;
  readonly baseUrl: string;
}
