// Bull Board's page sends no token with its writes: this adds the session's to every request to our own host.
'use strict'
const token = document.querySelector('meta[name="pawl-csrf"]').content
XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
  apply(send, request, given) {
    request.setRequestHeader('x-pawl-csrf', token)
    return Reflect.apply(send, request, given)
  },
})
