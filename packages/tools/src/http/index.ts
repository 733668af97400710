export { httpRequest, type HttpInput, type HttpMethod, type HttpRequestOptions, type HttpResult } from './http-request.ts'
