// Bull Board's page sends no token with its writes: this adds the session's to every request to our own host.
'use strict'
const token = document.querySelector('meta[name="pawl-csrf"]').content
window.XMLHttpRequest = class extends XMLHttpRequest {
  send(body) {
    this.setRequestHeader('x-pawl-csrf', token)
    super.send(body)
  }
}
